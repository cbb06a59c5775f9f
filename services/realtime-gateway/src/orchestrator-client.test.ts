import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError, INTERNAL_PATHS, MessageSend, SEND_DEADLINE_HEADER } from '@uswarm/contract';
import { listen, parseSigningKey, Registry, verifyInternalToken } from '@uswarm/service-kit';
import { createGatewayMetrics } from './metrics/gateway-metrics.js';
import { createOrchestratorClient } from './orchestrator-client.js';
import { CONVERSATION, MESSAGE, WORKSPACE } from '../test/envelopes.js';

const key = parseSigningKey('k1:0123456789abcdef0123456789abcdef');
const USER = '01890000-0000-7000-8000-0000000000f1';
const message = MessageSend.parse({
  workspace_id: WORKSPACE,
  conversation_id: CONVERSATION,
  local_id: 'l1',
  content: { type: 'text', text: 'hello' },
});

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

interface ReceivedRequest {
  path: string | undefined;
  headers: IncomingMessage['headers'];
  body: unknown;
}

/** A client for a real server with the given response. */
async function clientOf(answer: (response: ServerResponse) => void, timeoutMs?: number) {
  const seen: ReceivedRequest[] = [];
  const server = await listen(
    async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      seen.push({ path: request.url, headers: request.headers, body: JSON.parse(Buffer.concat(parts).toString()) });
      answer(response);
    },
    { host: '127.0.0.1', port: 0 },
  );
  cleanup.defer(() => server.close(0));
  const registry = new Registry();
  const metrics = createGatewayMetrics(registry);
  const limit = timeoutMs !== undefined && { timeoutMs };
  const verdicts: string[] = [];
  const onTokenVerdict = (verdict: string) => void verdicts.push(verdict);
  const client = createOrchestratorClient({ url: server.url, key, metrics, onTokenVerdict, ...limit });
  cleanup.defer(() => client.close());
  const measured = () => registry.getSingleMetricAsString('uswarm_gateway_orchestrator_seconds');
  return { client, seen, measured, verdicts };
}

type Respond = (response: ServerResponse) => void;
function json(status: number, body: unknown): Respond {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
}
const close: Respond = (response) => {
  response.destroy();
};
const hang: Respond = () => undefined;
const subjectOf = ({ headers }: ReceivedRequest): Promise<string> =>
  verifyInternalToken([key], (headers.authorization ?? '').replace('Bearer ', ''));

async function failure(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiError)) throw new Error('expected an ApiError', { cause: error });
  return error;
}

describe('the orchestrator client', () => {
  it.each([
    ['ok', 200, { message_id: MESSAGE }],
    ['refused', 404, { message: 'No.', code: 'workspace_not_found', extra: { request_id: 'r' } }],
    ['failed', 503, { message: 'Later.', code: 'service_unavailable', extra: { request_id: 'r' } }],
  ])('records the duration of calls with outcome %s', async (outcome, status, body) => {
    const { client, measured } = await clientOf(json(status, body));
    await client.send(USER, message, 'r').catch(() => undefined);
    expect(await measured()).toContain(`uswarm_gateway_orchestrator_seconds_count{call="send",outcome="${outcome}"} 1`);
  });

  it('authenticates with its own service token and forwards the client address', async () => {
    const answer = { user_id: USER, expires_at: null, token_hash: null };
    const { client, seen } = await clientOf(json(200, answer));
    expect(await client.authenticate({ 'x-token': 't' }, '203.0.113.9', 'request-1')).toEqual(answer);
    expect(seen).toMatchObject([
      {
        path: INTERNAL_PATHS.authenticate,
        headers: { 'x-request-id': 'request-1', 'x-forwarded-for': '203.0.113.9' },
        body: { credentials: { 'x-token': 't' } },
      },
    ]);
    expect(await Promise.all(seen.map(subjectOf))).toEqual(['realtime-gateway']);
  });

  it('announces the version of the bus that it reads, with one id per process', async () => {
    const { client, seen } = await clientOf(json(200, { ended: [] }));
    await client.endedSessions([], 'r');
    await client.endedSessions([], 'r');
    const announced = seen.map(({ headers }) => [headers['x-bus-version'], headers['x-gateway-id']]);
    expect(announced).toEqual([
      ['2', expect.stringMatching(/^[\da-f-]{36}$/)],
      ['2', announced[0]?.[1]],
    ]);
  });

  it('calls subscriptions and send with a token for the user', async () => {
    const subscriptions = { accepted: [{ workspace_id: WORKSPACE, last_seq: 4 }], rejected: [] };
    const first = await clientOf(json(200, subscriptions));
    expect(await first.client.subscriptions(USER, [WORKSPACE], 'request-1')).toEqual(subscriptions);
    const second = await clientOf(json(200, { message_id: MESSAGE }));
    expect(await second.client.send(USER, message, 'request-2')).toEqual({ message_id: MESSAGE });
    expect([...first.seen, ...second.seen]).toMatchObject([
      { path: INTERNAL_PATHS.subscriptions, body: { workspace_ids: [WORKSPACE] } },
      { path: INTERNAL_PATHS.send, body: message },
    ]);
    expect(await Promise.all([...first.seen, ...second.seen].map(subjectOf))).toEqual([USER, USER]);
  });

  it('returns an error with its code, message and extra', async () => {
    const body = { message: 'Slow down.', code: 'rate_limited', extra: { request_id: 'r', retry_after_ms: 5 } };
    const { client } = await clientOf(json(429, body));
    const error = await failure(client.send(USER, message, 'request-1'));
    expect(error).toMatchObject({ code: 'rate_limited', message: 'Slow down.', extra: { retry_after_ms: 5 } });
  });

  it('maps a rejected service token to service_unavailable, not to an error of the user', async () => {
    const body = { message: 'No.', code: 'token_invalid', extra: { request_id: 'r' } };
    const { client } = await clientOf(json(401, body));
    expect((await failure(client.send(USER, message, 'request-1'))).code).toBe('service_unavailable');
    expect((await failure(client.authenticate({}, '', 'request-1'))).code).toBe('token_invalid');
  });

  it.each(['expired', 'invalid'] as const)(
    'reports its own %s token, and maps its refusal to service_unavailable in every call',
    async (reason) => {
      const extra = { request_id: 'r', service_token: reason };
      const { client, verdicts } = await clientOf(json(401, { message: 'No.', code: 'token_invalid', extra }));
      expect((await failure(client.authenticate({}, '', 'r'))).code).toBe('service_unavailable');
      expect((await failure(client.send(USER, message, 'r'))).code).toBe('service_unavailable');
      expect(verdicts).toEqual([reason, reason]);
    },
  );

  it('reports an accepted token, and no verdict if the credentials of a user are refused', async () => {
    const accepted = await clientOf(json(200, {}));
    await accepted.client.checkServiceToken('r');
    const body = { message: 'No.', code: 'token_invalid', extra: { request_id: 'r' } };
    const refused = await clientOf(json(401, body));
    await failure(refused.client.authenticate({}, '', 'r'));
    expect([accepted.verdicts, refused.verdicts]).toEqual([['accepted'], []]);
  });

  it.each(['route_not_found', 'method_not_allowed'] as const)(
    'maps %s of another server to service_unavailable, not to an error of the user',
    async (code) => {
      const { client } = await clientOf(json(404, { message: 'No.', code, extra: { request_id: 'r' } }));
      expect((await failure(client.authenticate({}, '', 'r'))).code).toBe('service_unavailable');
    },
  );

  it.each([
    ['an error of a proxy', 502, '<html>', 'service_unavailable'],
    ['an unknown error body', 418, '{"teapot": true}', 'internal_error'],
    ['a response with another schema', 200, '{"id": 1}', 'internal_error'],
    ['a response that is not JSON', 200, 'ok', 'internal_error'],
  ])('maps %s to an error code', async (_name, status, text, code) => {
    const { client } = await clientOf((response) => void response.writeHead(status).end(text));
    expect((await failure(client.send(USER, message, 'request-1'))).code).toBe(code);
  });

  it('times out if the server accepts the request and never responds', async () => {
    const { client } = await clientOf(() => undefined, 50);
    expect((await failure(client.send(USER, message, 'request-1'))).code).toBe('service_unavailable');
  });

  it('times out if the response body never ends', async () => {
    const { client } = await clientOf((response) => void response.writeHead(200).write('{'), 50);
    expect((await failure(client.send(USER, message, 'request-1'))).code).toBe('service_unavailable');
  });

  it('gives a send a deadline before its own timeout', async () => {
    const { client, seen } = await clientOf(json(200, { message_id: MESSAGE }), 5_000);
    await client.send(USER, message, 'r');
    expect(seen[0]?.headers[SEND_DEADLINE_HEADER]).toBe('4000');
  });

  it.each([
    ['unknown', 'a timeout', hang],
    ['unknown', 'a closed connection', close],
    ['unknown', 'an error of a proxy', json(502, '<html>')],
    ['unknown', 'an answer without an id', json(200, {})],
    [
      'no',
      'an error after which nothing was stored',
      json(503, { message: 'No.', code: 'service_unavailable', extra: { request_id: 'r', stored: 'no' } }),
    ],
    ['no', 'a refusal', json(404, { message: 'No.', code: 'workspace_not_found', extra: { request_id: 'r' } })],
  ])('I12 reports as stored %s: %s', async (stored, _what, answer) => {
    const { client } = await clientOf(answer, 200);
    expect((await failure(client.send(USER, message, 'r'))).extra).toMatchObject({ stored });
  });

  it('I12 reports as not stored what it could not send', async () => {
    const server = await listen(() => undefined, { host: '127.0.0.1', port: 0 });
    await server.close();
    const client = createOrchestratorClient({ url: server.url, key });
    cleanup.defer(() => client.close());
    expect(await failure(client.send(USER, message, 'r'))).toMatchObject({
      code: 'service_unavailable',
      extra: { stored: 'no' },
    });
  });

  it('returns service_unavailable when the port is closed', async () => {
    const server = await listen(() => undefined, { host: '127.0.0.1', port: 0 });
    await server.close();
    const client = createOrchestratorClient({ url: server.url, key });
    cleanup.defer(() => client.close());
    const error = await failure(client.subscriptions(USER, [], 'request-1'));
    expect(error).toMatchObject({ code: 'service_unavailable', retryable: true });
  });
});
