import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { io, type Socket } from 'socket.io-client';
import { messageNew, WORKSPACE } from '../../../test/envelopes.js';
import type { TestClient } from '../../../test/test-client.js';
import { agreeable, startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../test/test-gateway.js';

let gateway: TestGateway;
let strangers: Socket[] = [];
afterEach(async () => {
  for (const socket of strangers) socket.disconnect();
  strangers = [];
  await gateway.close();
});
const start = async (options: TestGatewayOptions = {}): Promise<void> => {
  gateway = await startTestGateway(options);
};
const agreeableUser = () => agreeable.authenticate({}, '', '');
const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await sleep(10);
};
const count = async (metric: string, labels: string): Promise<number> =>
  Number(new RegExp(`{${labels}} (\\d+)`).exec(await gateway.metric(metric))?.[1]);

/** The network connection of a client, which can stop reading. */
function networkOf(client: TestClient): { pause(): void; resume(): void } {
  const { transport } = client.socket.io.engine as unknown as { transport: { ws: object } };
  return Reflect.get(transport.ws, '_socket') as { pause(): void; resume(): void };
}

describe('a client that does not read', () => {
  /** A long text, as agents write. */
  const bigMessage = (seq: number) => {
    const envelope = messageNew(seq) as ReturnType<typeof messageNew> & {
      payload: { message: { content: { text: string } } };
    };
    envelope.payload.message.content.text = 'x'.repeat(32_000);
    return envelope;
  };

  it('is closed, and the others get every event', async () => {
    await start({ settings: { unreadBytesPerSocket: 256 * 1024 } });
    const [reading, stuck] = [await gateway.connect(), await gateway.connect()];
    for (const client of [reading, stuck]) await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    const network = networkOf(stuck);
    network.pause();
    const closed = () => count('uswarm_gateway_sessions_ended_total', 'code="slow_consumer"');
    let seq = 0;
    // The kernel takes some megabytes on both sides.
    while ((await closed()) === 0) {
      seq += 1;
      await gateway.publish(bigMessage(seq));
      expect(await reading.next('message.new')).toMatchObject({ seq });
      if (seq > 2_000) throw new Error(`${seq} events of 32 kB wait for a client that does not read`);
    }
    await until(async () => (await gateway.metric('uswarm_gateway_sockets')).endsWith(' 1'));
    seq += 1;
    await gateway.publish(bigMessage(seq));
    expect(await reading.next('message.new')).toMatchObject({ seq });
    expect(await closed()).toBe(1);
    // Its library comes again by itself.
    network.resume();
    expect(await stuck.disconnected).toMatch(/^transport (close|error)$/);
  });

  it('is closed when it polls', async () => {
    await start({ settings: { unreadBytesPerSocket: 256 * 1024 } });
    const client = await gateway.connect({ transports: ['polling'] });
    await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    // The client fetches nothing further.
    Reflect.set(client.socket.io.engine.transport, '_poll', () => undefined);
    for (let seq = 1; seq <= 40; seq += 1) await gateway.publish(bigMessage(seq));
    await until(async () => (await count('uswarm_gateway_sessions_ended_total', 'code="slow_consumer"')) === 1);
    expect(await count('uswarm_gateway_sessions_ended_total', 'code="slow_consumer"')).toBe(1);
  });
});

describe('a client that sends faster than allowed', () => {
  it('is told when to try again, and is served again then', async () => {
    await start({ settings: { eventsPerSocket: { perSecond: 10, burst: 2 } } });
    const client = await gateway.connect();
    const answers = await Promise.all([1, 2, 3].map(() => client.ask('workspace.unsubscribe', { workspace_ids: [] })));
    expect(answers).toMatchObject([
      { ok: true },
      { ok: true },
      { code: 'rate_limited', extra: { retry_after_ms: expect.any(Number) } },
    ]);
    const again = async () => (await client.ask('workspace.unsubscribe', { workspace_ids: [] })) as { ok?: true };
    await until(async () => (await again()).ok === true);
    expect(client.socket.connected).toBe(true);
  });

  it('reads in message.send.error when to try again', async () => {
    await start({ settings: { eventsPerSocket: { perSecond: 0.001, burst: 1 } } });
    const client = await gateway.connect();
    await client.ask('workspace.unsubscribe', { workspace_ids: [] });
    client.socket.emit('message.send', { local_id: 'l' });
    expect(await client.next('message.send.error')).toMatchObject({
      local_id: 'l',
      code: 'rate_limited',
      retryable: true,
      retry_after_ms: expect.any(Number),
    });
  });

  it('is closed when it goes on, without an answer to each event', async () => {
    await start();
    const client = await gateway.connect();
    for (let n = 0; n < 2_000; n += 1) client.socket.emit('message.send', { local_id: `${n}` });
    expect(await client.next('session.ending')).toEqual({ code: 'rate_limited', reconnect: false });
    expect(await client.disconnected).toBe('io server disconnect');
    expect(client.events.length).toBeLessThan(200);
  });
});

describe('message.send.error', () => {
  it.each(['rate_limited', 'turn_queue_full'] as const)('carries the retry time that comes with %s', async (code) => {
    await start({
      orchestrator: { send: () => Promise.reject(new ApiError(code, { extra: { retry_after_ms: 1_234 } })) },
    });
    const client = await gateway.connect();
    const content = { type: 'text', text: 'hi' };
    client.socket.emit('message.send', {
      workspace_id: WORKSPACE,
      conversation_id: WORKSPACE,
      local_id: 'l',
      content,
    });
    expect(await client.next('message.send.error')).toMatchObject({ code, retry_after_ms: 1_234 });
  });
});

describe('a connection without credentials', () => {
  /** Opens a connection, and asks for no namespace. */
  function stranger(): Socket {
    const socket = io(`${gateway.url}/v1`, {
      transports: ['websocket'],
      forceNew: true,
      reconnection: false,
      // Never calls back: the credentials do not come.
      auth: () => undefined,
    });
    strangers.push(socket);
    return socket;
  }
  const opened = (socket: Socket): Promise<void> => new Promise((resolve) => socket.io.once('open', () => resolve()));

  it('is closed when they do not come in time', async () => {
    await start({ settings: { authenticationMs: 50 } });
    const socket = stranger();
    const reason = await new Promise((resolve) => socket.io.once('close', resolve));
    expect(reason).toBe('transport close');
  });

  it('counts for its address until it is closed', async () => {
    await start({ settings: { unauthenticatedPerAddress: 2 } });
    const [first, second] = [stranger(), stranger()];
    await Promise.all([opened(first), opened(second)]);
    await expect(gateway.connect()).rejects.toThrow();
    expect(await count('uswarm_gateway_connections_refused_total', 'reason="address"')).toBe(1);
    first.io.engine.close();
    const letIn = () =>
      gateway.connect().then(
        () => true,
        () => false,
      );
    await until(letIn);
    // Who is authenticated does not count.
    await until(letIn);
  });
});

describe('a session that ends', () => {
  it('announces that the gateway shuts down, so that the client reconnects', async () => {
    await start();
    const client = await gateway.connect();
    await gateway.shutDown();
    expect(await client.next('session.ending')).toEqual({ code: 'server_leaving', reconnect: true });
    expect(await client.disconnected).toBe('transport close');
  });

  it.each(['logged_out', 'user_banned', 'user_deleted'] as const)('sends %s and is closed', async (code) => {
    await start();
    const client = await gateway.connect();
    const { user_id } = await agreeableUser();
    await gateway.bus.publishSessionEnd({ v: 1, user_id, token_hash: null, code });
    expect(await client.next('session.ending')).toEqual({ code, reconnect: false });
    expect(await client.disconnected).toBe('io server disconnect');
  });

  it('reports that the credential expired', async () => {
    await start({
      orchestrator: {
        authenticate: async () => ({
          ...(await agreeableUser()),
          expires_at: new Date(Date.now() + 100).toISOString(),
        }),
      },
    });
    const client = await gateway.connect();
    expect(await client.next('session.ending')).toEqual({ code: 'token_expired', reconnect: false });
  });
});

describe('the sockets of a user', () => {
  it('lose the oldest when there are more than allowed', async () => {
    await start({ settings: { socketsPerUser: 2 } });
    const clients = [await gateway.connect(), await gateway.connect(), await gateway.connect()];
    expect(await clients[0]?.next('session.ending')).toEqual({ code: 'too_many_sockets', reconnect: false });
    expect(await clients[0]?.disconnected).toBe('io server disconnect');
    for (const client of clients.slice(1)) {
      expect(await client.ask('workspace.unsubscribe', { workspace_ids: [] })).toMatchObject({ ok: true });
    }
  });
});
