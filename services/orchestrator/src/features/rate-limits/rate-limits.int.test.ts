import { afterEach, describe, expect, it } from '@jest/globals';
import { type ErrorBody, INTERNAL_PATHS } from '@uswarm/contract';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { request } from 'undici';
import type { Answer, ApiClient } from '../../../test/api-client.js';
import { eventually } from '../../../test/eventually.js';
import { type Home, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

/** Windows longer than any test, of 128 s for a burst of two. */
const limits = (name: 'IP' | 'USER' | 'SENDS', burst: number, perSecond = 1 / 64) => ({
  [`RATE_${name}_PER_S`]: String(perSecond),
  [`RATE_${name}_BURST`]: String(burst),
});

const PROFILE = '/v1/users/profile';
const MODELS = '/v1/models';

describe('rate limits', () => {
  let uswarm: TestOrchestrator;
  afterEach(() => uswarm.close());
  const start = async (environment: Record<string, string>): Promise<void> => {
    uswarm = await startTestOrchestrator({ environment });
  };
  /** How many of `count` concurrent requests are accepted. */
  const letThrough = async (client: ApiClient, path: string, count: number): Promise<number> => {
    const answers = await Promise.all(Array.from({ length: count }, () => client.raw({ method: 'GET', path })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    return answers.filter(({ status }) => status === 200).length;
  };

  it('a user has a burst, whatever the routes, and others have theirs', async () => {
    await start(limits('USER', 60));
    const ada = await uswarm.user();
    // Signing up was the first one.
    expect(await letThrough(ada, PROFILE, 40 + 60)).toBe(59);
    expect(await ada.refusal('GET', '/v1/workspaces')).toBe('rate_limited');
    expect(await ada.refusal('POST', '/v1/auth/sign-in')).toBe('rate_limited');
    expect(await (await uswarm.stranger()).refusal('GET', PROFILE)).toBe('sign_up_required');
  });

  it('the credential that a user comes with makes no difference', async () => {
    await start(limits('USER', 5));
    const ada = await uswarm.user();
    expect(await letThrough(ada, PROFILE, 6)).toBe(4);
    const { 'x-token': token = '' } = ada.headers;
    const bearer = uswarm.anonymous.with({ authorization: `Bearer ${token}` });
    expect(await bearer.refusal('GET', PROFILE)).toBe('rate_limited');
    expect((await bearer.with({ 'x-forwarded-for': '203.0.113.9' }).raw({ method: 'GET', path: PROFILE })).status).toBe(
      429,
    );
  });

  it('an address has a burst, with or without credentials', async () => {
    await start(limits('IP', 20));
    const stranger = await uswarm.stranger();
    const mixed = [uswarm.anonymous.with({ 'x-token': 'none' }), uswarm.anonymous, stranger];
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => mixed[n % 3]!.raw<ErrorBody>({ method: 'GET', path: PROFILE })),
    );
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(10);
    expect(await uswarm.anonymous.refusal('GET', '/v1/nothing')).toBe('rate_limited');
  });

  it('health has ten times the burst of an address, and neither counts for the other', async () => {
    await start(limits('IP', 2));
    const answers = await Promise.all(
      Array.from({ length: 25 }, () => uswarm.anonymous.raw<ErrorBody>({ method: 'GET', path: '/v1/health' })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({ code: 'rate_limited', extra: { limit: 'health' } });
    expect(refused?.headers['ratelimit-policy']).toBe('"health";q=20;w=128');
    expect(await letThrough(uswarm.anonymous, MODELS, 3)).toBe(2);
  });

  it('ignores an address that a client only claims', async () => {
    await start(limits('IP', 3));
    const claim = (n: number) => uswarm.anonymous.with({ 'x-forwarded-for': `203.0.113.${n}` });
    const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => claim(n).raw({ method: 'GET', path: MODELS })));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(2);
  });

  it('behind a trusted proxy it is the address that the proxy saw', async () => {
    await start({ ...limits('IP', 3), HTTP_TRUSTED_PROXIES: 'loopback, 10.0.0.0/8' });
    const from = (addresses: string) => uswarm.anonymous.with({ 'x-forwarded-for': addresses });
    expect(await letThrough(from('203.0.113.1, 10.1.2.3'), MODELS, 5)).toBe(3);
    // What the client itself wrote in front of it is not looked at.
    expect(await from('203.0.113.2, 203.0.113.1, 10.1.2.3').refusal('GET', MODELS)).toBe('rate_limited');
    expect((await from('203.0.113.2, 10.1.2.3').get(MODELS)).status).toBe(200);
    // One network, many addresses.
    expect(await letThrough(from('2001:db8::1'), MODELS, 5)).toBe(3);
    expect(await from('2001:db8::2').refusal('GET', MODELS)).toBe('rate_limited');
  });

  describe('the headers of an answer', () => {
    it('state the remaining quota of every limit that applies', async () => {
      await start({ ...limits('IP', 300, 1), ...limits('USER', 60, 1), ...limits('SENDS', 20, 1) });
      const ada = await uswarm.user();
      const { headers } = await ada.get(PROFILE);
      expect(headers).toMatchObject({
        'ratelimit-policy': '"ip";q=300;w=300, "user";q=60;w=60, "sends";q=20;w=20',
        ratelimit: expect.stringMatching(/^"ip";r=298;t=(300|29\d), "user";r=58;t=(60|5\d)$/),
      });
      expect(headers).not.toHaveProperty('retry-after');
      expect((await uswarm.anonymous.get(MODELS)).headers['ratelimit']).toMatch(/^"ip";r=297;t=(300|29\d)$/);
    });

    it('are absent without limits', async () => {
      await start({});
      expect(Object.keys((await uswarm.anonymous.get(MODELS)).headers).join()).not.toContain('ratelimit');
    });

    it('when a refused client may come again', async () => {
      await start({ ...limits('IP', 300, 1), ...limits('USER', 2) });
      const ada = await uswarm.user();
      await ada.get(PROFILE);
      const { headers, body } = await ada.raw<ErrorBody>({ method: 'GET', path: PROFILE });
      const ms = body.extra?.retry_after_ms ?? 0;
      expect([body.code, body.extra?.['limit']]).toEqual(['rate_limited', 'user']);
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThanOrEqual(128_000);
      const seconds = String(Math.ceil(ms / 1_000));
      expect(headers['retry-after']).toBe(seconds);
      expect(headers['ratelimit']).toMatch(new RegExp(`^"ip";r=29\\d;t=\\d+, "user";r=0;t=${seconds}$`));
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
    });

    it('the truth: after that time it is let in', async () => {
      await start(limits('USER', 2, 1));
      const ada = await uswarm.user();
      const call = () => ada.raw<ErrorBody>({ method: 'GET', path: PROFILE });
      const { body } = await eventually(call, ({ status }) => status === 429);
      await new Promise((resolve) => setTimeout(resolve, body.extra?.retry_after_ms));
      expect((await ada.get(PROFILE)).status).toBe(200);
    });
  });

  describe('sends', () => {
    const message = (localId: string = crypto.randomUUID()) => ({
      local_id: localId,
      content: { type: 'text', text: `hi ${localId}` },
    });
    const send = (user: ApiClient, { messages }: Home, body: unknown): Promise<Answer<ErrorBody>> =>
      user.raw({
        method: 'POST',
        path: messages,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });

    it('have a separate limit', async () => {
      await start(limits('SENDS', 4));
      const ada = await uswarm.user();
      const home = await uswarm.home(ada);
      const answers = await Promise.all(Array.from({ length: 6 }, () => send(ada, home, message())));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 201, 429, 429]);
      const refused = answers.find(({ status }) => status === 429);
      expect(refused?.body.extra).toMatchObject({ limit: 'sends', retry_after_ms: expect.any(Number) });
      expect(refused?.headers['ratelimit']).toMatch(/^"sends";r=0;t=\d+$/);
      expect((await ada.get(home.messages)).status).toBe(200);
    });

    it('that are stored already are answered regardless of the limit', async () => {
      await start(limits('SENDS', 2));
      const ada = await uswarm.user();
      const home = await uswarm.home(ada);
      const [first, second] = [message(), message()];
      const stored = [await send(ada, home, first), await send(ada, home, second)];
      expect((await send(ada, home, message())).status).toBe(429);
      const again = [await send(ada, home, first), await send(ada, home, second)];
      expect(again.map(({ status, body }) => [status, body])).toEqual(stored.map(({ body }) => [201, body]));
    });

    it('by REST and by sockets count together', async () => {
      await start(limits('SENDS', 2));
      const ada = await uswarm.user();
      const home = await uswarm.home(ada);
      expect((await send(ada, home, message())).status).toBe(201);
      const { id } = await uswarm.database.selectFrom('users').select('id').executeTakeFirstOrThrow();
      const token = await signInternalToken(parseSigningKey(uswarm.internalKey), id);
      const viaGateway = async () => {
        const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.send}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify({
            workspace_id: home.workspaceId,
            conversation_id: home.conversationId,
            ...message(),
            mentions: [],
            attachments: [],
          }),
        });
        return { status: answer.statusCode, body: (await answer.body.json()) as Partial<ErrorBody> };
      };
      expect((await viaGateway()).status).toBe(200);
      expect(await viaGateway()).toMatchObject({
        status: 429,
        body: { code: 'rate_limited', extra: { limit: 'sends', retry_after_ms: expect.any(Number) } },
      });
    });
  });

  it('events of sockets that cost a query count for the user, whatever they are', async () => {
    await start(limits('USER', 2));
    const ada = await uswarm.user();
    const { id } = await uswarm.database.selectFrom('users').select('id').executeTakeFirstOrThrow();
    const token = await signInternalToken(parseSigningKey(uswarm.internalKey), id);
    const ask = async (path: string, body: object) => {
      const answer = await request(`${uswarm.internalUrl}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      });
      return { status: answer.statusCode, body: (await answer.body.json()) as Partial<ErrorBody> };
    };
    const subscribe = () => ask(INTERNAL_PATHS.subscriptions, { workspace_ids: [] });
    expect((await subscribe()).status).toBe(200);
    expect((await subscribe()).status).toBe(200);
    const refused = { status: 429, body: { code: 'rate_limited', extra: { retry_after_ms: expect.any(Number) } } };
    expect(await subscribe()).toMatchObject(refused);
    // A send that was stored already costs a query too.
    const sent = { workspace_id: id, conversation_id: id, local_id: 'l', content: { type: 'text', text: 'hi' } };
    expect(await ask(INTERNAL_PATHS.send, { ...sent, mentions: [], attachments: [] })).toMatchObject(refused);
    // Signing up was one request over REST, which is counted apart.
    expect((await ada.raw({ method: 'GET', path: PROFILE })).status).toBe(200);
  });

  it('sockets that connect count for the address that the gateway names', async () => {
    await start(limits('IP', 2));
    const stranger = await uswarm.stranger();
    const token = await signInternalToken(parseSigningKey(uswarm.internalKey), 'realtime-gateway');
    const connect = async (address: string): Promise<unknown> => {
      const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.authenticate}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'x-forwarded-for': address },
        body: JSON.stringify({ credentials: { 'x-token': stranger.token } }),
      });
      return ((await answer.body.json()) as ErrorBody).code;
    };
    const codes = [];
    for (const address of ['203.0.113.1', '203.0.113.1', '203.0.113.1', '203.0.113.2']) {
      codes.push(await connect(address));
    }
    expect(codes).toEqual(['sign_up_required', 'sign_up_required', 'rate_limited', 'sign_up_required']);
  });
});
