import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError, ErrorBody } from '@uswarm/contract';
import { createLogger } from '@uswarm/service-kit';
import { io } from 'socket.io-client';
import { startTestGateway, type TestGateway, type TestGatewayOptions, USER } from '../../../test/test-gateway.js';
import type { Credentials } from './credentials.js';

let gateway: TestGateway;
afterEach(() => gateway.close());

/** Starts a gateway and records its authentication requests. */
async function start(options: TestGatewayOptions = {}) {
  const requests: { credentials: Credentials; address: string; requestId: string }[] = [];
  gateway = await startTestGateway({
    ...options,
    orchestrator: {
      async authenticate(credentials, address, requestId) {
        requests.push({ credentials, address, requestId });
        return { user_id: USER, expires_at: null, token_hash: null };
      },
      ...options.orchestrator,
    },
  });
  return requests;
}

describe('the handshake', () => {
  it('reads credentials from the headers', async () => {
    const requests = await start();
    await gateway.connect({ auth: {}, extraHeaders: { 'X-Token': 't1', 'X-Signature': 's1', 'X-Timestamp': '1' } });
    expect(requests).toMatchObject([{ credentials: { 'x-token': 't1', 'x-signature': 's1', 'x-timestamp': '1' } }]);
  });

  it('reads credentials from auth', async () => {
    const requests = await start();
    await gateway.connect({ auth: { 'x-token': 't2', 'x-device-id': 'd' } });
    expect(requests).toEqual([
      { credentials: { 'x-token': 't2', 'x-device-id': 'd' }, address: '127.0.0.1', requestId: expect.any(String) },
    ]);
  });

  it('reads the client address from trusted proxies only', async () => {
    const requests = await start({ settings: { trustedProxies: ['loopback'] } });
    await gateway.connect({ extraHeaders: { 'X-Forwarded-For': '198.51.100.7' } });
    expect(requests).toMatchObject([{ address: '198.51.100.7' }]);
  });

  it('refuses with the documented error object and the request id', async () => {
    let requestId = '';
    await start({
      orchestrator: {
        async authenticate(_credentials, _address, id) {
          requestId = id;
          throw new ApiError('token_expired');
        },
      },
    });
    const { message, data } = await gateway.refusal();
    expect(ErrorBody.parse(data)).toEqual({
      message: 'The identity provider token has expired.',
      code: 'token_expired',
      extra: { request_id: requestId },
    });
    expect(message).toBe(data?.message);
  });

  it.each([
    ['the token of a user', { 'x-token': 't' }],
    ['a resume token without credentials', { resume_token: 'of another key' }],
  ])('does not refuse %s for good while the orchestrator refuses the service token', async (_what, auth) => {
    let isProven = false;
    await start({
      credential: { proven: async () => isProven },
      orchestrator: { authenticate: () => Promise.reject(new ApiError('token_invalid')) },
    });
    const options = { transports: ['websocket'], forceNew: true, reconnection: false, auth };
    const socket = io(`${gateway.url}/v1`, options);
    let refused = false;
    socket.on('connect_error', () => (refused = true));
    await new Promise((resolve) => socket.io.once('close', resolve));
    expect(refused).toBe(false);
    isProven = true;
    expect((await gateway.refusal({ auth })).data).toBeDefined();
  });

  it('keeps connected sockets open while the orchestrator is unavailable', async () => {
    let up = true;
    await start({
      settings: { handshakePatienceMs: 0 },
      orchestrator: {
        async authenticate() {
          if (up) return { user_id: USER, expires_at: null, token_hash: null };
          throw new ApiError('service_unavailable');
        },
      },
    });
    const early = await gateway.connect();
    up = false;
    const late = io(`${gateway.url}/v1`, { transports: ['websocket'], forceNew: true, reconnection: false });
    await new Promise((resolve) => late.io.once('close', resolve));
    expect(await early.ask('workspace.unsubscribe', { workspace_ids: [] })).toMatchObject({ ok: true });
  });

  it('refuses connections to the default namespace', async () => {
    await start();
    const socket = io(gateway.url, { transports: ['websocket'], forceNew: true, reconnection: false });
    const error = await new Promise<Error & { data?: unknown }>((resolve, reject) => {
      socket.once('connect_error', resolve);
      socket.once('connect', () => reject(new Error('connected')));
    });
    socket.close();
    expect(ErrorBody.parse(error.data)).toMatchObject({ code: 'route_not_found' });
  });

  it('refuses unlisted origins before it calls the orchestrator', async () => {
    const requests = await start({ settings: { corsOrigins: ['https://app.test'] } });
    await gateway.refusal({ extraHeaders: { Origin: 'https://evil.test' } });
    expect(requests).toEqual([]);
    await gateway.connect({ extraHeaders: { Origin: 'https://app.test' } });
    expect(requests).toHaveLength(1);
  });

  it('calls the admit function of the host application first', async () => {
    const requests = await start({ admit: ({ headers }) => headers.host?.startsWith('localhost') ?? false });
    await gateway.refusal();
    expect(requests).toEqual([]);
  });

  it('logs no credential', async () => {
    const lines: string[] = [];
    const logger = createLogger({
      service: 's',
      level: 'trace',
      destination: { write: (line) => void lines.push(line) },
    });
    await start({
      logger,
      orchestrator: {
        authenticate: () => Promise.reject(new ApiError('token_invalid')),
      },
    });
    await gateway.refusal({
      auth: { 'x-token': 'very-secret-token' },
      extraHeaders: { 'X-E2E-Token': 'other-secret' },
    });
    expect(lines.join('')).toContain('token_invalid');
    expect(lines.join('')).not.toContain('secret');
  });

  it('logs the version and platform of a device, but neither its name nor its id', async () => {
    const lines: string[] = [];
    const logger = createLogger({
      service: 's',
      level: 'debug',
      destination: { write: (line) => void lines.push(line) },
    });
    await start({ logger });
    const device = {
      'x-device-id': 'E621E1F8-C36C-495A-93FC-0C247A3E6E5F',
      'x-device-info': 'Ada’s iPhone',
      'x-version': '2.14.0',
      'x-timezone': 'Europe/Berlin',
    };
    await gateway.connect({ auth: { 'x-token': 't', ...device } });
    const line = lines.find((text) => text.includes('connection accepted')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({
      device: expect.stringMatching(/^[\da-f]{12}$/),
      platform: 'ios',
      appVersion: '2.14.0',
      timezone: 'Europe/Berlin',
    });
    expect(lines.join('')).not.toMatch(/Ada|E621/);
  });

  it('counts connected sockets', async () => {
    await start();
    const client = await gateway.connect();
    expect(await gateway.metric('uswarm_gateway_sockets')).toMatch(/uswarm_gateway_sockets 1$/);
    client.socket.disconnect();
    while (!(await gateway.metric('uswarm_gateway_sockets')).endsWith(' 0')) await setImmediate();
    expect(await gateway.metric('uswarm_gateway_disconnects_total')).toContain(
      '{reason="client namespace disconnect"} 1\n',
    );
  });

  it('counts handshakes by outcome', async () => {
    const answers = [
      async () => ({ user_id: USER, expires_at: null, token_hash: null }),
      () => Promise.reject(new ApiError('token_invalid')),
      () => Promise.reject(new ApiError('rate_limited')),
      () => Promise.reject(new ApiError('service_unavailable')),
    ];
    await start({ settings: { handshakePatienceMs: 0 }, orchestrator: { authenticate: () => answers.shift()!() } });
    await gateway.connect();
    await gateway.refusal();
    for (let n = 0; n < 2; n += 1) {
      const socket = io(`${gateway.url}/v1`, { transports: ['websocket'], forceNew: true, reconnection: false });
      await new Promise((resolve) => socket.io.once('close', resolve));
    }
    const text = await gateway.metric('uswarm_gateway_handshakes_total');
    for (const outcome of ['ok', 'refused', 'rate_limited', 'failed'])
      expect(text).toContain(`{outcome="${outcome}"} 1`);
  });
});
