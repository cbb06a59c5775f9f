import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError, type ErrorBody, type ErrorCode, ERRORS } from '@uswarm/contract';
import { OTHER_WORKSPACE, WORKSPACE } from '../../../test/envelopes.js';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../test/test-gateway.js';
import { openStream, type StreamOptions } from '../../../test/test-stream.js';

let gateway: TestGateway;
afterEach(() => gateway.close());
const start = async (options: TestGatewayOptions = {}): Promise<void> => {
  gateway = await startTestGateway({ settings: { handshakePatienceMs: 0 }, ...options });
};
const refusal = async (options: StreamOptions = {}) => {
  const stream = await openStream(gateway.url, { workspaces: [WORKSPACE], ...options });
  const { code, extra } = JSON.parse(await stream.ended) as ErrorBody;
  const { headers } = stream.response;
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(headers['x-request-id']).toBe(extra?.request_id);
  expect(stream.status).toBe(ERRORS[code].status);
  return {
    status: stream.status,
    code,
    retryAfter: headers['retry-after'],
    fields: extra?.fields?.map(({ path }) => path),
  };
};
const failing =
  (code: ErrorCode, extra = {}) =>
  async (): Promise<never> => {
    throw new ApiError(code, { extra });
  };

describe('a stream, before its first byte,', () => {
  it.each<ErrorCode>(['token_missing', 'token_expired', 'user_banned', 'sign_up_required'])(
    'is refused with %s',
    async (code) => {
      await start({ orchestrator: { authenticate: failing(code) } });
      expect(await refusal()).toMatchObject({ code, retryAfter: undefined });
    },
  );

  it('is refused with the time to wait, if there are too many requests', async () => {
    await start({ orchestrator: { authenticate: failing('rate_limited', { retry_after_ms: 2_100 }) } });
    expect(await refusal()).toMatchObject({ status: 429, code: 'rate_limited', retryAfter: '3' });
  });

  it.each(['authenticate', 'subscriptions'] as const)(
    'is refused with a time to wait, if %s is unavailable',
    async (call) => {
      await start({ orchestrator: { [call]: failing('service_unavailable') } });
      const { retryAfter, ...rest } = await refusal();
      expect(rest).toMatchObject({ status: 503, code: 'service_unavailable' });
      expect(Number(retryAfter)).toBeGreaterThan(0);
      expect(Number(retryAfter)).toBeLessThanOrEqual(5);
    },
  );

  it('is refused with 503, if the gateway cannot judge credentials', async () => {
    await start({
      orchestrator: { authenticate: failing('token_invalid') },
      credential: { proven: async () => false },
    });
    expect(await refusal()).toMatchObject({ status: 503, code: 'service_unavailable' });
  });

  it('is refused with 404, if it has no workspace of the user', async () => {
    const rejected = (ids: readonly string[]) =>
      ids.map((id) => ({ workspace_id: id, code: 'workspace_not_found' as const }));
    await start({ orchestrator: { subscriptions: async (_user, ids) => ({ accepted: [], rejected: rejected(ids) }) } });
    expect(await refusal({ workspaces: [WORKSPACE, 'no id'] })).toMatchObject({ code: 'workspace_not_found' });
  });

  it('is not refused if it has one workspace of the user', async () => {
    await start({
      orchestrator: {
        subscriptions: async () => ({
          accepted: [{ workspace_id: WORKSPACE, last_seq: 0, epoch: 'e1', agents: [], streams: [] }],
          rejected: [{ workspace_id: OTHER_WORKSPACE, code: 'workspace_not_found' }],
        }),
      },
    });
    const stream = await openStream(gateway.url, { workspaces: [WORKSPACE, OTHER_WORKSPACE] });
    expect(await stream.next('workspace.subscribed')).toMatchObject({
      workspace_ids: [WORKSPACE],
      rejected: [{ workspace_id: OTHER_WORKSPACE, code: 'workspace_not_found' }],
    });
    stream.close();
  });

  it.each([
    ['no workspace', { workspaces: [] }, 'workspace_id'],
    ['too many workspaces', { workspaces: Array.from({ length: 51 }, () => WORKSPACE) }, 'workspace_id'],
    ['a workspace id without an end', { workspaces: ['x'.repeat(65)] }, 'workspace_id.0'],
    ['a position without a workspace', { since: ['e1:4'] }, 'since.0'],
    ['a position that is not a number', { since: [`${WORKSPACE}@e1:x`] }, 'since.0'],
    ['a negative position', { since: [`${WORKSPACE}@e1:-1`] }, 'since.0'],
  ])('is refused with validation_failed for %s', async (_name, options, path) => {
    await start();
    expect(await refusal(options)).toMatchObject({ code: 'validation_failed', fields: [path] });
  });

  it.each([
    'nonsense',
    'v2~e1',
    'v1~',
    'v1~e1.short1',
    `v1~e1.${'A'.repeat(22)}x`,
    'v1'.repeat(2_500),
    '41',
    '%00',
    '__proto__',
  ])('is refused with cursor_invalid for the cursor %.30s', async (lastEventId) => {
    await start();
    expect(await refusal({ lastEventId })).toMatchObject({ status: 400, code: 'cursor_invalid' });
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('is refused with 405 for %s', async (method) => {
    await start();
    const stream = await openStream(gateway.url, { method });
    expect({ status: stream.status, allow: stream.response.headers.allow }).toEqual({ status: 405, allow: 'GET' });
    expect(await stream.ended).toContain('"code":"method_not_allowed"');
  });

  it.each(['/', '/x'])('is refused with 404 for %s below its path', async (path) => {
    await start();
    const response = await fetch(`${gateway.url}/v1/stream${path}?workspace_id=${WORKSPACE}`);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 404,
      body: { code: 'route_not_found' },
    });
  });

  it('is refused with 405 for HEAD', async () => {
    await start();
    const stream = await openStream(gateway.url, { method: 'HEAD' });
    expect({ status: stream.status, body: await stream.ended }).toEqual({ status: 405, body: '' });
  });

  it('is refused if its credentials are in the query', async () => {
    await start({
      orchestrator: {
        async authenticate(credentials) {
          expect(credentials).toEqual({});
          throw new ApiError('token_missing');
        },
      },
    });
    const response = await fetch(`${gateway.url}/v1/stream?workspace_id=${WORKSPACE}&x-token=t&token=t`);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 401,
      body: { code: 'token_missing' },
    });
  });
});

describe('a stream of a page', () => {
  const ORIGIN = 'https://app.example.com';

  it('may have Last-Event-ID and readable errors if its origin is allowed', async () => {
    await start({ settings: { corsOrigins: [ORIGIN] } });
    const preflight = await fetch(`${gateway.url}/v1/stream?workspace_id=${WORKSPACE}`, {
      method: 'OPTIONS',
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'last-event-id,x-resume-token,x-token',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(preflight.headers.get('access-control-allow-headers')?.split(',')).toEqual(
      expect.arrayContaining(['last-event-id', 'x-resume-token', 'x-token']),
    );
    const refused = await fetch(`${gateway.url}/v1/stream`, { headers: { origin: ORIGIN } });
    expect(refused.headers.get('access-control-expose-headers')).toContain('Retry-After');
    expect(refused.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  });

  it('is refused and counted like a socket if its origin is not allowed', async () => {
    await start({ settings: { corsOrigins: [ORIGIN] } });
    expect(await refusal({ headers: { origin: 'https://evil.example' } })).toMatchObject({
      code: 'origin_not_allowed',
    });
    expect(await gateway.metric('uswarm_gateway_connections_refused_total')).toContain('{reason="origin"} 1');
  });
});
