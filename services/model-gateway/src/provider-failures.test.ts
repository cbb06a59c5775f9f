import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { estimatePromptTokens } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import {
  delta,
  type ProviderServer,
  type Respond,
  sse,
  startProviderServer,
  STREAM,
  streamed,
  usageChunk,
} from '../test/provider-server.js';
import { PROVIDER_KEY, startTestGateway, type TestGateway } from '../test/test-gateway.js';

const QUESTION = 'a private question about pelicans';
const CHAT = { model: 'flash', stream: true, messages: [{ role: 'user', content: QUESTION }], max_tokens: 100 };
const JSON_TYPE = { 'content-type': 'application/json' };

let provider: ProviderServer;
let gateway: TestGateway;
let respond: Respond;
let settle: () => void;
beforeEach(async () => {
  settle = () => undefined;
  provider = await startProviderServer(() => respond);
  gateway = await startTestGateway({
    provider: provider.url,
    onSettle: () => settle(),
    environment: { MODEL_CALLS_PER_MINUTE: '5', MODEL_CALLS_CONCURRENT: '2' },
  });
});
afterEach(async () => {
  await gateway.close();
  await provider.close();
});
const outcomes = () => [...gateway.settled.values()].map(({ outcome }) => outcome);

describe('an error of the provider', () => {
  it.each([
    [429, { 'retry-after': '7', 'retry-after-ms': '7000' }],
    [400, {}],
    [529, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }],
  ])('is passed on with its body and its time of retry, and counts nothing: status %d', async (status, headers) => {
    const body = '{"error":{"message":"overloaded or refused"}}';
    respond = (response) => void response.writeHead(status, { ...JSON_TYPE, ...headers }).end(body);
    const response = await gateway.openai(CHAT);
    expect(response.status).toBe(status);
    expect(Object.fromEntries(response.headers)).toMatchObject(headers);
    expect(await response.text()).toBe(body);
    expect(outcomes()).toEqual(['refused']);
  });

  it.each([401, 403])('is hidden if its text quotes the key: status %d', async (status) => {
    respond = (response) => void response.writeHead(status, JSON_TYPE).end(`{"error":"Incorrect key ${PROVIDER_KEY}"}`);
    const response = await gateway.openai(CHAT);
    expect(response.status).toBe(502);
    const text = await response.text();
    expect(text).toContain('provider_credentials_rejected');
    expect(text).not.toContain(PROVIDER_KEY);
    expect(outcomes()).toEqual(['refused']);
  });

  it('is reported as refused content without its text if a moderation flagged the prompt', async () => {
    const error = { code: 403, message: PROVIDER_KEY, metadata: { reasons: ['violence'], flagged_input: QUESTION } };
    respond = (response) => void response.writeHead(403, JSON_TYPE).end(JSON.stringify({ error }));
    const response = await gateway.openai(CHAT);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: 'The model provider refused the content of the request.',
        type: 'content_filter',
        code: 'content_filter',
      },
    });
    expect(outcomes()).toEqual(['refused']);
    expect(gateway.log.join('')).not.toContain('pelicans');
  });

  it.each([401, 403])('is reported as a missing credit if its text names it: status %d', async (status) => {
    const error = { message: `Key ${PROVIDER_KEY}: you have used all available credits.` };
    respond = (response) => void response.writeHead(status, JSON_TYPE).end(JSON.stringify({ error }));
    const response = await gateway.openai(CHAT);
    expect(response.status).toBe(402);
    const text = await response.text();
    expect(text).toContain('provider_credit_exhausted');
    expect(text).not.toContain(PROVIDER_KEY);
    expect(outcomes()).toEqual(['refused']);
  });

  it.each([
    ['breaks', (response: ServerResponse) => response.destroy()],
    ['is too long', (response: ServerResponse) => response.end(`{"error":"${'x'.repeat(128 * 1024)}"}`)],
  ])('is a rejected key if the response with status 403 %s', async (_what, end) => {
    respond = (response) =>
      void response.writeHead(403, JSON_TYPE).write('{"error":{"metadata":{"reasons":[]}}, ', () => end(response));
    const response = await gateway.openai(CHAT);
    expect(response.status).toBe(502);
    expect(await response.text()).toContain('provider_credentials_rejected');
    expect(outcomes()).toEqual(['refused']);
  });

  it('is not followed if it is a redirect', async () => {
    const other = await startProviderServer(() => streamed(delta('stolen')));
    try {
      respond = (response) => void response.writeHead(307, { location: `${other.url}/v1/chat/completions` }).end();
      const response = await gateway.openai(CHAT);
      expect(response.status).toBe(502);
      expect(response.headers.get('location')).toBeNull();
      expect(await response.text()).toContain('provider_redirected');
      expect(other.requests).toEqual([]);
      expect(outcomes()).toEqual(['refused']);
    } finally {
      await other.close();
    }
  });

  it('counts nothing if the provider cannot be reached', async () => {
    await provider.close();
    const response = await gateway.openai(CHAT);
    expect(response.status).toBe(502);
    expect(await response.text()).toContain('provider_unreachable');
    expect(outcomes()).toEqual(['refused']);
  });

  it('counts nothing if the provider does not speak TLS', async () => {
    const other = await startTestGateway({ provider: provider.url.replace('http:', 'https:') });
    try {
      const response = await other.openai(CHAT);
      expect(response.status).toBe(502);
      await response.text();
      expect([...other.settled.values()].map(({ outcome }) => outcome)).toEqual(['refused']);
    } finally {
      await other.close();
    }
  });

  it('counts the prompt if the connection breaks before the response', async () => {
    respond = (response) => void response.destroy();
    const response = await gateway.openai(CHAT);
    expect(response.status).toBe(502);
    await response.text();
    expect([...gateway.settled.values()]).toEqual([
      expect.objectContaining({
        prompt_tokens: estimatePromptTokens(JSON.stringify(CHAT)),
        estimated: true,
        outcome: 'cut',
      }),
    ]);
  });
});

describe('headers', () => {
  it('are not passed from the runtime to the provider, except those of the protocol', async () => {
    respond = streamed(delta('Hi', 'stop'));
    const headers = { cookie: 'a=b', 'x-forwarded-for': '10.0.0.1', 'openai-organization': 'other', traceparent: 'x' };
    await (await gateway.openai(CHAT, { headers })).text();
    expect(Object.keys(provider.requests[0]?.headers ?? {}).toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
    ]);
    expect(JSON.stringify(provider.requests[0]?.headers)).not.toContain(gateway.token);
  });

  it('are not passed from the provider to the runtime if they name the account', async () => {
    respond = (response) => {
      const headers = {
        ...STREAM,
        'set-cookie': 'c=1',
        'openai-organization': 'platform',
        'x-ratelimit-limit-tokens': '9',
      };
      response.writeHead(200, { ...headers, 'x-request-id': 'req-1' }).end(sse(delta('Hi', 'stop')));
    };
    const response = await gateway.openai(CHAT);
    await response.text();
    expect([...response.headers.keys()].toSorted()).toEqual([
      'connection',
      'content-type',
      'date',
      'keep-alive',
      'transfer-encoding',
      'x-request-id',
    ]);
  });
});

describe('the limits of a workspace', () => {
  it('refuse further concurrent calls with 429', async () => {
    respond = (response) => void response.writeHead(200, STREAM).write(sse(delta('Hi')));
    const abort = new AbortController();
    await Promise.all([1, 2].map(() => gateway.openai(CHAT, { signal: abort.signal })));
    const response = await gateway.openai(CHAT);
    expect(response.status).toBe(429);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({ error: { code: 'rate_limited' } });
    abort.abort();
    await eventually(() => gateway.settled.size, { until: (size) => size === 2 });
    respond = streamed(delta('Hi', 'stop'));
    const after = await gateway.openai(CHAT);
    expect(after.status).toBe(200);
    await after.text();
  });

  it('refuse further calls of a minute with 429', async () => {
    respond = streamed(delta('Hi', 'stop'));
    for (let call = 0; call < 5; call += 1) await (await gateway.openai(CHAT)).text();
    const response = await gateway.openai(CHAT);
    expect(response.status).toBe(429);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    await response.text();
    expect(provider.requests).toHaveLength(5);
  });
});

describe('back-pressure', () => {
  it('reaches the provider from a client that does not read', async () => {
    const part = sse(delta('x'.repeat(1024 * 1024)));
    const parts = 200;
    let written = 0;
    respond = async (response) => {
      response.writeHead(200, STREAM);
      for (; written < parts && !response.destroyed; written += 1) {
        if (!response.write(part))
          await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
      }
      response.end();
    };
    const abort = new AbortController();
    const response = await gateway.openai(CHAT, { signal: abort.signal });
    expect(response.status).toBe(200);
    let before = -1;
    await eventually(
      () => {
        const stalled = written === before;
        before = written;
        return stalled;
      },
      { until: (stalled) => stalled && written > 0, intervalMs: 500 },
    );
    expect(written).toBeLessThan(parts / 2);
    abort.abort();
    await eventually(() => provider.aborted, { until: (aborted) => aborted === 1 });
  });
});

describe('the settlement', () => {
  it('is repeated in the background if the orchestrator is unavailable', async () => {
    let failures = 2;
    settle = () => {
      failures -= 1;
      if (failures >= 0) throw new Error('down');
    };
    respond = streamed(delta('Hi', 'stop'), usageChunk(10, 5));
    const response = await gateway.openai(CHAT);
    expect(await response.text()).toContain('[DONE]');
    expect(gateway.settled.size).toBe(0);
    expect(await gateway.registry.getSingleMetricAsString('uswarm_model_gateway_settlements_pending')).toMatch(/ 1$/m);
    await eventually(() => gateway.settled.size, { until: (size) => size === 1 });
    expect(outcomes()).toEqual(['completed']);
  });

  it('is tried a last time at shutdown', async () => {
    let down = true;
    settle = () => {
      if (down) throw new Error('down');
    };
    respond = streamed(delta('Hi', 'stop'), usageChunk(10, 5));
    await (await gateway.openai(CHAT)).text();
    down = false;
    await gateway.close();
    expect(outcomes()).toEqual(['completed']);
  });
});

describe('the log', () => {
  it('contains neither texts nor secrets, whatever fails', async () => {
    const answer = 'an answer about pelicans';
    const behaviours: Respond[] = [
      streamed(delta(answer, 'stop'), usageChunk(1, 1)),
      (response) => void response.writeHead(401, JSON_TYPE).end(`{"error":"${PROVIDER_KEY} ${QUESTION}"}`),
      (response) => void response.writeHead(500, JSON_TYPE).end(`{"error":"${QUESTION}"}`),
      (response) => void response.writeHead(200, STREAM).write(sse(delta(answer)), () => response.destroy()),
    ];
    for (const behaviour of behaviours) {
      respond = behaviour;
      await (await gateway.openai(CHAT)).text().catch(() => undefined);
    }
    await (await gateway.openai({}, { body: `{"messages": "${QUESTION}` })).text();
    const log = gateway.log.join('');
    expect(log).toContain('model call');
    for (const secret of ['pelicans', PROVIDER_KEY, gateway.token]) expect(log).not.toContain(secret);
  });
});
