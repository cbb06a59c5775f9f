import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError, type ErrorCode } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { io, type Socket } from 'socket.io-client';
import { startTestGateway, type TestGateway, type TestGatewayOptions, USER } from '../../../test/test-gateway.js';

let gateway: TestGateway;
let clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients) client.disconnect();
  clients = [];
  await gateway.close();
});

/** An orchestrator that can be unavailable and accepts one token. */
async function start(fault: ErrorCode | undefined, settings: TestGatewayOptions['settings'] = {}) {
  const orchestrator = { fault, answer: Promise.resolve(), concurrent: 0, mostConcurrent: 0, requests: 0 };
  gateway = await startTestGateway({
    settings: { handshakePatienceMs: 500, socketsPerUser: 0, ...settings },
    orchestrator: {
      async authenticate(credentials) {
        orchestrator.requests += 1;
        orchestrator.concurrent += 1;
        orchestrator.mostConcurrent = Math.max(orchestrator.mostConcurrent, orchestrator.concurrent);
        await Promise.all([sleep(1), orchestrator.answer]);
        orchestrator.concurrent -= 1;
        if (orchestrator.fault !== undefined) throw new ApiError(orchestrator.fault);
        if (credentials['x-token'] !== 'good') throw new ApiError('token_invalid');
        return { user_id: USER, expires_at: null, token_hash: null };
      },
    },
  });
  return orchestrator;
}

/** A client with the library's default options. */
function defaultClient(token = 'good'): Socket {
  const client = io(`${gateway.url}/v1`, { auth: { 'x-token': token } });
  clients.push(client);
  return client;
}

/** The number of handshakes with this outcome. */
async function handshakes(outcome: string): Promise<number> {
  const text = await gateway.metric('uswarm_gateway_handshakes_total');
  return Number(new RegExp(`outcome="${outcome}"} (\\d+)`).exec(text)?.[1]);
}

const refusalOf = (client: Socket): Promise<Error & { data?: unknown }> =>
  new Promise((resolve) => client.on('connect_error', (error) => client.active || resolve(error)));

describe('a client with default options', () => {
  it('has one socket if its app connects again during the handshake, and other clients keep theirs', async () => {
    const orchestrator = await start(undefined);
    const other = defaultClient();
    await eventually(() => other.connected);
    const { promise: both, resolve: release } = Promise.withResolvers<void>();
    orchestrator.answer = both;
    const client = io(`${gateway.url}/v1`, { auth: { 'x-token': 'good' }, transports: ['websocket'] });
    clients.push(client);
    client.io.once('open', () => client.connect());
    await eventually(() => orchestrator.requests > 1);
    // The gateway has both packets when it has answered a later ping on the connection.
    const { ws } = client.io.engine.transport as unknown as { ws: NodeJS.EventEmitter & { ping(): void } };
    const answered = once(ws, 'pong');
    ws.ping();
    await Promise.race([answered, once(ws, 'close')]);
    release();
    await eventually(() => client.connected);
    expect(other.connected).toBe(true);
    await eventually(async () => (await gateway.metric('uswarm_gateway_sockets')).endsWith(' 2'));
  });

  it('may send other credentials over the same connection after a refusal', async () => {
    await start(undefined);
    let token = 'bad';
    const client = io(`${gateway.url}/v1`, { auth: (answer) => answer({ 'x-token': token }) });
    clients.push(client);
    // Keeps the connection, which the last socket closes.
    client.io.socket('/other');
    await refusalOf(client);
    const { id } = client.io.engine;
    token = 'good';
    client.connect();
    await eventually(() => client.connected);
    expect(client.io.engine.id).toBe(id);
  });

  it('reconnects after an outage of the orchestrator together with 499 others', async () => {
    const orchestrator = await start('service_unavailable');
    const all = Array.from({ length: 500 }, () => defaultClient());
    // Some clients were refused, and some are still in their handshake.
    await eventually(async () => (await handshakes('failed')) >= 100);
    orchestrator.fault = undefined;
    await eventually(() => all.every(({ connected }) => connected));
    expect(orchestrator.mostConcurrent).toBeLessThanOrEqual(32);
  });

  it.each<ErrorCode>(['service_unavailable', 'rate_limited', 'internal_error'])(
    'reconnects after %s with every transport',
    async (code) => {
      const orchestrator = await start(code, { handshakePatienceMs: 0 });
      const [polling, both] = [
        io(`${gateway.url}/v1`, { transports: ['polling'], auth: { 'x-token': 'good' } }),
        defaultClient(),
      ];
      clients.push(polling);
      await eventually(async () => (await handshakes(code === 'rate_limited' ? code : 'failed')) >= 2);
      orchestrator.fault = undefined;
      await eventually(() => polling.connected && both.connected);
      expect(await handshakes('ok')).toBe(2);
    },
  );

  it('stays in the handshake during a short outage of the orchestrator', async () => {
    const orchestrator = await start('service_unavailable', { handshakePatienceMs: 600_000 });
    const client = defaultClient();
    let closed = 0;
    client.io.on('close', () => (closed += 1));
    await eventually(() => orchestrator.requests >= 2);
    orchestrator.fault = undefined;
    await eventually(() => client.connected);
    expect(closed).toBe(0);
  });

  it('is refused for a wrong token immediately, but only after the orchestrator has verified the token', async () => {
    const orchestrator = await start('service_unavailable', { handshakePatienceMs: 0 });
    const client = defaultClient('wrong');
    const refusal = refusalOf(client);
    await eventually(async () => (await handshakes('failed')) >= 2);
    expect(client.active).toBe(true);
    orchestrator.fault = undefined;
    expect((await refusal).data).toMatchObject({ code: 'token_invalid' });
    expect(client.active).toBe(false);
    const before = orchestrator.requests;
    expect((await refusalOf(defaultClient('wrong'))).data).toMatchObject({ code: 'token_invalid' });
    expect(orchestrator.requests).toBe(before + 1);
  });

  it('connects later if too many handshakes are queued', async () => {
    const orchestrator = await start('service_unavailable', { concurrentHandshakes: 1, queuedHandshakes: 2 });
    const all = Array.from({ length: 20 }, () => defaultClient());
    await eventually(async () => (await handshakes('failed')) >= 1);
    orchestrator.fault = undefined;
    await eventually(() => all.every(({ connected }) => connected));
    expect(orchestrator.mostConcurrent).toBe(1);
  });

  it('causes no orchestrator call after it has disconnected', async () => {
    const orchestrator = await start('service_unavailable', { concurrentHandshakes: 1, handshakePatienceMs: 600_000 });
    const client = defaultClient();
    await eventually(() => orchestrator.requests >= 1);
    client.disconnect();
    await eventually(async () => (await handshakes('left')) === 1);
    const before = orchestrator.requests;
    orchestrator.fault = undefined;
    const other = defaultClient();
    await eventually(() => other.connected);
    expect(orchestrator.requests).toBe(before + 1);
  });
});
