import { afterEach, describe, expect, it } from '@jest/globals';
import { type ErrorBody, INTERNAL_PATHS } from '@uswarm/contract';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { request } from 'undici';
import type { Answer, ApiClient } from '../../../test/api-client.js';
import { type Home, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

/** A burst of two has a window of 128 s, which is longer than any test. */
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
  /** Sends `count` concurrent requests. @returns the number of accepted ones */
  const letThrough = async (client: ApiClient, path: string, count: number): Promise<number> => {
    const answers = await Promise.all(Array.from({ length: count }, () => client.raw({ method: 'GET', path })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    return answers.filter(({ status }) => status === 200).length;
  };

  it('each user has one burst for all routes', async () => {
    await start(limits('USER', 60));
    const ada = await uswarm.user();
    expect(await letThrough(ada, PROFILE, 40 + 60)).toBe(59);
    expect(await ada.refusal('GET', '/v1/workspaces')).toBe('rate_limited');
    expect(await ada.refusal('POST', '/v1/auth/sign-in')).toBe('rate_limited');
    expect(await (await uswarm.newIdentity()).refusal('GET', PROFILE)).toBe('sign_up_required');
  });

  it('all credentials of a user share one limit', async () => {
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
    const identity = await uswarm.newIdentity();
    const mixed = [uswarm.anonymous.with({ 'x-token': 'none' }), uswarm.anonymous, identity];
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => mixed[n % 3]!.raw<ErrorBody>({ method: 'GET', path: PROFILE })),
    );
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(10);
    expect(await uswarm.anonymous.refusal('GET', '/v1/nothing')).toBe('rate_limited');
  });

  it('health checks of an address have a separate limit with ten times the burst', async () => {
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

  it('an address from a client header is ignored without a trusted proxy', async () => {
    await start(limits('IP', 3));
    const claim = (n: number) => uswarm.anonymous.with({ 'x-forwarded-for': `203.0.113.${n}` });
    const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => claim(n).raw({ method: 'GET', path: MODELS })));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(2);
  });

  it('the address behind a trusted proxy is the one that the proxy reports', async () => {
    await start({ ...limits('IP', 3), HTTP_TRUSTED_PROXIES: 'loopback, 10.0.0.0/8' });
    const from = (addresses: string) => uswarm.anonymous.with({ 'x-forwarded-for': addresses });
    expect(await letThrough(from('203.0.113.1, 10.1.2.3'), MODELS, 5)).toBe(3);
    // Addresses that the client added to the header are ignored.
    expect(await from('203.0.113.2, 203.0.113.1, 10.1.2.3').refusal('GET', MODELS)).toBe('rate_limited');
    expect((await from('203.0.113.2, 10.1.2.3').get(MODELS)).status).toBe(200);
    // Both addresses belong to one IPv6 network.
    expect(await letThrough(from('2001:db8::1'), MODELS, 5)).toBe(3);
    expect(await from('2001:db8::2').refusal('GET', MODELS)).toBe('rate_limited');
  });

  describe('the headers of a response', () => {
    it('contain the remaining quota of each applicable limit', async () => {
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

    it('contain the time after which a rejected client can retry', async () => {
      await start({ ...limits('IP', 300, 1), ...limits('USER', 2) });
      const ada = await uswarm.user();
      await ada.get(PROFILE);
      const { headers, body } = await ada.raw<ErrorBody>({ method: 'GET', path: PROFILE });
      const ms = body.extra?.retry_after_ms ?? 0;
      expect({ code: body.code, limit: body.extra?.['limit'] }).toEqual({ code: 'rate_limited', limit: 'user' });
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThanOrEqual(128_000);
      const seconds = String(Math.ceil(ms / 1_000));
      expect(headers['retry-after']).toBe(seconds);
      expect(headers['ratelimit']).toMatch(new RegExp(`^"ip";r=29\\d;t=\\d+, "user";r=0;t=${seconds}$`));
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
    });

    it('contain a correct time: the client is accepted after it', async () => {
      await start(limits('USER', 2, 1));
      const ada = await uswarm.user();
      const call = () => ada.raw<ErrorBody>({ method: 'GET', path: PROFILE });
      const { body } = await eventually(call, { until: ({ status }) => status === 429 });
      await new Promise((resolve) => setTimeout(resolve, body.extra?.retry_after_ms));
      expect((await ada.get(PROFILE)).status).toBe(200);
    });
  });

  describe('sent messages', () => {
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

    it('are returned regardless of the limit if they are already stored', async () => {
      await start(limits('SENDS', 2));
      const ada = await uswarm.user();
      const home = await uswarm.home(ada);
      const [first, second] = [message(), message()];
      const stored = [await send(ada, home, first), await send(ada, home, second)];
      expect((await send(ada, home, message())).status).toBe(429);
      const again = [await send(ada, home, first), await send(ada, home, second)];
      expect(again.map(({ status, body }) => [status, body])).toEqual(stored.map(({ body }) => [201, body]));
    });

    it('count together for REST and sockets', async () => {
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

  it('all socket events that cause a query count for the user', async () => {
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
    // A retry of a stored message causes a query too.
    const sent = { workspace_id: id, conversation_id: id, local_id: 'l', content: { type: 'text', text: 'hi' } };
    expect(await ask(INTERNAL_PATHS.send, { ...sent, mentions: [], attachments: [] })).toMatchObject(refused);
    // The sign-up was a REST request, which is counted separately.
    expect((await ada.raw({ method: 'GET', path: PROFILE })).status).toBe(200);
  });

  it('socket connections count for the address that the gateway reports', async () => {
    await start(limits('IP', 2));
    const identity = await uswarm.newIdentity();
    const token = await signInternalToken(parseSigningKey(uswarm.internalKey), 'realtime-gateway');
    const connect = async (address: string): Promise<unknown> => {
      const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.authenticate}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'x-forwarded-for': address },
        body: JSON.stringify({ credentials: { 'x-token': identity.token } }),
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
