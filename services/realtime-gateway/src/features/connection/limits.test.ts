import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { io, type Socket } from 'socket.io-client';
import { messageNew, WORKSPACE } from '../../../test/envelopes.js';
import type { TestClient } from '../../../test/test-client.js';
import {
  acceptingOrchestrator,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from '../../../test/test-gateway.js';

let gateway: TestGateway;
let unauthenticated: Socket[] = [];
afterEach(async () => {
  for (const socket of unauthenticated) socket.disconnect();
  unauthenticated = [];
  await gateway.close();
});
const start = async (options: TestGatewayOptions = {}): Promise<void> => {
  gateway = await startTestGateway(options);
};
const acceptedUser = () => acceptingOrchestrator.authenticate({}, '', '');
const count = async (metric: string, labels: string): Promise<number> =>
  Number(new RegExp(`{${labels}} (\\d+)`).exec(await gateway.metric(metric))?.[1]);

interface Answer {
  ok?: true;
  code?: string;
  extra?: { retry_after_ms?: number };
}

/** A client's TCP connection, to pause reading. */
function networkOf(client: TestClient): { pause(): void; resume(): void } {
  const { transport } = client.socket.io.engine as unknown as { transport: { ws: object } };
  return Reflect.get(transport.ws, '_socket') as { pause(): void; resume(): void };
}

describe('a client that does not read', () => {
  const STALL = { unflushedBytes: 64 * 1024, stallMs: 1_000 };
  /** A message with a long text. */
  const bigMessage = (seq: number) => {
    const envelope = messageNew(seq);
    Object.assign(envelope.payload['message'] as object, { content: { type: 'text', text: 'x'.repeat(32_000) } });
    return envelope;
  };
  const closed = () => count('uswarm_gateway_sessions_ended_total', 'code="slow_consumer"');

  it('is closed, and other clients receive every event', async () => {
    await start({ settings: { outlet: STALL } });
    const [reading, stuck] = [await gateway.connect(), await gateway.connect()];
    for (const client of [reading, stuck]) await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    const network = networkOf(stuck);
    network.pause();
    let seq = 0;
    // The kernel buffers some megabytes on both sides.
    while ((await closed()) === 0) {
      seq += 1;
      await gateway.publish(bigMessage(seq));
      expect(await reading.next('message.new')).toMatchObject({ seq });
    }
    await eventually(async () => (await gateway.metric('uswarm_gateway_sockets')).endsWith(' 1'));
    seq += 1;
    await gateway.publish(bigMessage(seq));
    expect(await reading.next('message.new')).toMatchObject({ seq });
    expect(await closed()).toBe(1);
    // The client library reconnects.
    network.resume();
    expect(await stuck.disconnected).toMatch(/^transport (close|error)$/);
  });

  it('is closed if it uses polling', async () => {
    await start({ settings: { outlet: STALL } });
    const client = await gateway.connect({ transports: ['polling'] });
    await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    // The client stops polling.
    Reflect.set(client.socket.io.engine.transport, '_poll', () => undefined);
    for (let seq = 1; seq <= 40; seq += 1) await gateway.publish(bigMessage(seq));
    expect(await eventually(closed, { until: (times) => times > 0 })).toBe(1);
  });
});

describe('a client that sends faster than allowed', () => {
  it('receives the retry time and is served again afterwards', async () => {
    await start({ settings: { eventsPerSocket: { perSecond: 10, burst: 2 } } });
    const client = await gateway.connect();
    const answers = await Promise.all([1, 2, 3].map(() => client.ask('workspace.unsubscribe', { workspace_ids: [] })));
    expect(answers).toMatchObject([
      { ok: true },
      { ok: true },
      { code: 'rate_limited', extra: { retry_after_ms: expect.any(Number) } },
    ]);
    const again = async () => (await client.ask('workspace.unsubscribe', { workspace_ids: [] })) as { ok?: true };
    await eventually(async () => (await again()).ok === true);
    expect(client.socket.connected).toBe(true);
  });

  it('receives the retry time in message.send.error', async () => {
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

  it('may send an outbox of 150 messages together, each of which is accepted at its retry time', async () => {
    await start();
    const client = await gateway.connect();
    const attempts = await Promise.all(
      Array.from({ length: 150 }, async () => {
        for (let attempt = 1; ; attempt += 1) {
          const answer = (await client.ask('workspace.unsubscribe', { workspace_ids: [] })) as Answer;
          if (answer.ok === true) return attempt;
          expect(answer.code).toBe('rate_limited');
          await sleep(answer.extra?.retry_after_ms);
        }
      }),
    );
    // A timer can fire a little early.
    expect(Math.max(...attempts)).toBeLessThanOrEqual(3);
    expect(client.names()).toEqual([]);
  });

  it.each([[['websocket']], [['polling']]])(
    'is closed if it continues, and connects again by itself with %j',
    async (transports) => {
      await start({ settings: { floodPauseMs: 300 } });
      const client = await gateway.connect({ transports, reconnection: true });
      const { id } = client.socket;
      for (let n = 0; n < 5_000; n += 1) client.socket.emit('message.send', { local_id: `${n}` });
      expect(await client.next('session.ending')).toEqual({ code: 'rate_limited', reconnect: true, in_ms: 300 });
      expect(client.events.length).toBeLessThan(1_100);
      expect(await client.disconnected).toMatch(/^transport (close|error)$/);
      await eventually(() => client.socket.connected);
      expect(client.socket.id).not.toBe(id);
    },
  );

  it('is ended after a hundred payloads above the limit', async () => {
    // Not ended for its rate.
    await start({ settings: { eventsPerSocket: { perSecond: 0, burst: 1 } } });
    const client = await gateway.connect();
    for (let n = 0; n < 120; n += 1) client.socket.emit('message.send', 'x'.repeat(300_000));
    expect(await client.next('session.ending')).toMatchObject({ code: 'rate_limited', in_ms: 5_000 });
  });
});

describe('message.send.error', () => {
  it.each(['rate_limited', 'turn_queue_full'] as const)('contains the retry time of %s', async (code) => {
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
  /** Opens a connection that never sends its credentials. */
  function connectUnauthenticated(): Socket {
    const socket = io(`${gateway.url}/v1`, {
      transports: ['websocket'],
      forceNew: true,
      reconnection: false,
      // Never calls back with credentials.
      auth: () => undefined,
    });
    unauthenticated.push(socket);
    return socket;
  }
  const opened = (socket: Socket): Promise<void> => new Promise((resolve) => socket.io.once('open', () => resolve()));

  it('is closed after the authentication timeout', async () => {
    await start({ settings: { authenticationMs: 50 } });
    const socket = connectUnauthenticated();
    const reason = await new Promise((resolve) => socket.io.once('close', resolve));
    expect(reason).toBe('transport close');
  });

  it('counts toward the limit of its address until it is closed', async () => {
    await start({ settings: { unauthenticatedPerAddress: 2 } });
    const [first, second] = [connectUnauthenticated(), connectUnauthenticated()];
    await Promise.all([opened(first), opened(second)]);
    await expect(gateway.connect()).rejects.toThrow();
    expect(await count('uswarm_gateway_connections_refused_total', 'reason="address"')).toBe(1);
    first.io.engine.close();
    const canConnect = () =>
      gateway.connect().then(
        () => true,
        () => false,
      );
    await eventually(canConnect);
    // Authenticated connections do not count.
    await eventually(canConnect);
  });
});

describe('session.ending', () => {
  it('announces a shutdown with reconnect: true', async () => {
    await start();
    const client = await gateway.connect();
    await gateway.shutDown();
    expect(await client.next('session.ending')).toEqual({ code: 'server_leaving', reconnect: true, in_ms: 0 });
    expect(await client.disconnected).toBe('transport close');
  });

  it.each(['logged_out', 'user_banned', 'user_deleted'] as const)(
    'announces %s with reconnect: false before the socket is closed',
    async (code) => {
      await start();
      const client = await gateway.connect();
      const { user_id } = await acceptedUser();
      await gateway.bus.publishSessionEnd({ v: 1, user_id, token_hash: null, code });
      expect(await client.next('session.ending')).toEqual({ code, reconnect: false, in_ms: 0 });
      expect(await client.disconnected).toBe('io server disconnect');
    },
  );
});

describe('the limit of sockets per user', () => {
  it('closes the oldest socket above the limit', async () => {
    // Several connections are opened within a millisecond.
    for (let repetition = 0; repetition < 100; repetition += 1) {
      await start({ settings: { socketsPerUser: 2 } });
      const clients = [await gateway.connect(), await gateway.connect(), await gateway.connect()];
      const first = await Promise.race(clients.map((client, index) => client.disconnected.then(() => index)));
      expect(first).toBe(0);
      expect(await clients[0]?.next('session.ending')).toEqual({
        code: 'too_many_sockets',
        reconnect: false,
        in_ms: 0,
      });
      expect(await clients[0]?.disconnected).toBe('io server disconnect');
      for (const client of clients.slice(1)) {
        expect(await client.ask('workspace.unsubscribe', { workspace_ids: [] })).toMatchObject({ ok: true });
      }
      if (repetition < 99) await gateway.close();
    }
  });
});
