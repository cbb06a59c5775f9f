import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MAX_MODEL_REQUEST_BYTES, parseSigningKey, signMcpToken, signModelToken } from '@uswarm/service-kit';
import { sendSlowBody } from '@uswarm/testkit/slow-request';
import { type ProviderServer, startProviderServer, streamed } from '../test/provider-server.js';
import { PROVIDER_KEY, startTestGateway, type TestGateway, TOKEN_KEY, TURN } from '../test/test-gateway.js';
import { GatewayError } from './gateway-error.js';

const MESSAGES = [{ role: 'user', content: 'a private question' }];
const CHAT = { model: 'flash', stream: true, messages: MESSAGES, max_tokens: 100 };
const MESSAGE = { model: 'sonnet', stream: true, messages: MESSAGES, max_tokens: 100 };

let provider: ProviderServer;
let gateway: TestGateway;
let refuse: (() => void) | undefined;
beforeEach(async () => {
  refuse = undefined;
  provider = await startProviderServer(() => streamed());
  gateway = await startTestGateway({ provider: provider.url, onReserve: () => refuse?.() });
});
afterEach(async () => {
  await gateway.close();
  await provider.close();
});

const errorOf = async (response: Response) => ({ status: response.status, body: await response.json() });

/** Effects of all calls: provider requests and token reservations. */
const effects = () => ({ sent: provider.requests, reserved: gateway.reserved });
const NO_EFFECTS = { sent: [], reserved: [] };

it('ends a call whose body stands still with 408, and frees what it held', async () => {
  await gateway.close();
  gateway = await startTestGateway({ provider: provider.url, bodies: { stallMs: 300, minBytesPerS: 1 } });
  const headers = { authorization: `Bearer ${gateway.token}` };
  const url = `${gateway.url}/openai/v1/chat/completions`;
  const calls = await Promise.all(
    Array.from({ length: 8 }, () => sendSlowBody({ method: 'POST', url, headers, start: '{"model":' })),
  );
  expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([408]));
  expect(gateway.log).toEqual([]);
  expect((await gateway.openai(CHAT)).status).toBe(200);
});

it('refuses a call whose body is not UTF-8', async () => {
  const [start = '', end = ''] = JSON.stringify({ ...CHAT, user: '|' }).split('|');
  const body = Buffer.concat([Buffer.from(start), Buffer.from([0xff]), Buffer.from(end)]);
  const { status } = await gateway.openai(CHAT, { body });
  expect({ status, ...effects() }).toEqual({ status: 400, ...NO_EFFECTS });
});

describe('a call that is not allowed', () => {
  const headersWith = (token: string) => ({ headers: { authorization: token } });

  it.each<[string, () => string | Promise<string>]>([
    ['no token', () => ''],
    ['garbage', () => 'Bearer garbage'],
    ['a tool token', async () => `Bearer ${await signMcpToken(parseSigningKey(TOKEN_KEY), TURN)}`],
    ['another key', async () => `Bearer ${await signModelToken(parseSigningKey(`t1:${'x'.repeat(32)}`), TURN)}`],
    ['the key of the provider', () => `Bearer ${PROVIDER_KEY}`],
  ])('is refused with 401 before it is read: %s', async (_what, token) => {
    const response = await gateway.openai(CHAT, headersWith(await token()));
    expect(await errorOf(response)).toMatchObject({ status: 401, body: { error: { code: 'token_invalid' } } });
    expect(effects()).toEqual(NO_EFFECTS);
  });

  it.each([
    ['a model that is not configured', { model: 'gpt-expensive' }, 403, 'model_not_allowed'],
    ['several choices', { n: 50 }, 400, 'invalid_request'],
    ['a tool of the provider', { tools: [{ type: 'web_search' }] }, 400, 'invalid_request'],
    ['a search by the provider', { web_search_options: {} }, 400, 'invalid_request'],
    ['a plugin of the provider', { plugins: [{ id: 'web' }] }, 400, 'invalid_request'],
    ['further models', { models: ['gpt-expensive'] }, 400, 'invalid_request'],
    ['a model after a failure', { fallbacks: ['gpt-expensive'] }, 400, 'invalid_request'],
    ['a faster answer with a higher price', { service_tier: 'priority' }, 400, 'invalid_request'],
    ['no messages', { messages: [] }, 400, 'invalid_request'],
  ])('never reaches the provider: %s', async (_what, change, status, code) => {
    expect(await errorOf(await gateway.openai({ ...CHAT, ...change }))).toMatchObject({
      status,
      body: { error: { code } },
    });
    expect(effects()).toEqual(NO_EFFECTS);
  });

  it.each([
    ['a tool of the provider', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['servers that the provider calls', { mcp_servers: [{ url: 'https://example.com' }] }],
    ['no output limit', { max_tokens: undefined }],
    ['a faster answer with a higher price', { speed: 'fast' }],
    ['a model after a failure', { fallbacks: [{ model: 'claude-expensive' }] }],
  ])('never reaches the provider in the Messages protocol: %s', async (_what, change) => {
    const response = await gateway.anthropic({ ...MESSAGE, ...change });
    expect(await errorOf(response)).toMatchObject({ status: 400, body: { error: { type: 'invalid_request' } } });
    expect(effects()).toEqual(NO_EFFECTS);
  });

  it.each([
    ['token_limit_reached', 402],
    ['turn_budget_reached', 402],
    ['turn_not_running', 403],
    ['orchestrator_unavailable', 503],
  ] as const)('never reaches the provider: %s', async (code, status) => {
    refuse = () => {
      throw new GatewayError(code, 'No.', { retryAfterS: 1 });
    };
    const response = await gateway.openai(CHAT);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await errorOf(response)).toEqual({ status, body: { error: { message: 'No.', type: code, code } } });
    expect({ sent: provider.requests, settled: gateway.settled.size }).toEqual({ sent: [], settled: 0 });
  });

  it('is refused with 413 if it is too large', async () => {
    const large = { ...CHAT, messages: [{ role: 'user', content: 'x'.repeat(MAX_MODEL_REQUEST_BYTES) }] };
    expect(await errorOf(await gateway.openai(large))).toMatchObject({
      status: 413,
      body: { error: { code: 'body_too_large' } },
    });
    let pieces = 0;
    const stream = new ReadableStream({
      pull: (controller) => {
        pieces += 1;
        // An endless body would fill the memory if the client did not notice the response.
        if (pieces > 32) controller.close();
        else controller.enqueue(new Uint8Array(1024 * 1024));
      },
    });
    const unsized = await gateway.openai({}, { body: stream, duplex: 'half' } as RequestInit);
    expect(unsized.status).toBe(413);
    expect(effects()).toEqual(NO_EFFECTS);
  });

  it('is refused with 404 if its route or method is unknown', async () => {
    for (const [path, method] of [
      ['/openai/v1/models', 'GET'],
      ['/openai/v1/chat/completions', 'GET'],
      ['/openai/v1/embeddings', 'POST'],
      ['/anthropic/v1/messages/../../../secret', 'POST'],
      ['/http://127.0.0.1:1/v1/chat/completions', 'POST'],
    ] as const) {
      const response = await fetch(`${gateway.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${gateway.token}` },
      });
      expect(response.status).toBe(404);
      await response.text();
    }
    expect(provider.requests).toEqual([]);
  });
});
