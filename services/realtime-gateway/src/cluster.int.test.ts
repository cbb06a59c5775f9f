import { type AddressInfo, connect as connectTcp, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { createRedisBus, type EventBus } from '@uswarm/event-bus';
import { silentLogger } from '@uswarm/service-kit';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { io } from 'socket.io-client';
import { WORKSPACE } from '../test/envelopes.js';
import type { TestClient } from '../test/test-client.js';
import { startTestGateway, type TestGateway } from '../test/test-gateway.js';
import { openStream } from '../test/test-stream.js';

const url = process.env['TEST_REDIS_URL'] ?? '';
const PHONE = 'a'.repeat(64);

describeWith('valkey', 'gateways that share a Redis', () => {
  let userId: string;
  let gateways: TestGateway[];
  let orchestrator: EventBus;
  beforeEach(async () => {
    userId = crypto.randomUUID();
    orchestrator = createRedisBus({ url, logger: silentLogger });
    const start = () =>
      startTestGateway({
        bus: createRedisBus({ url, logger: silentLogger }),
        settings: { socketsPerUser: 3, sessionCheckMs: 600_000 },
        orchestrator: {
          authenticate: async (credentials) => ({
            user_id: credentials['x-token'] === 'other' ? crypto.randomUUID() : userId,
            expires_at: null,
            token_hash: PHONE,
          }),
        },
      });
    gateways = [await start(), await start()];
    for (const gateway of gateways) while (!gateway.bus.healthy()) await sleep(5);
  });
  afterEach(async () => {
    await Promise.all(gateways.map((gateway) => gateway.close()));
    await orchestrator.close();
  });
  const connect = (gateway: number, token = 'mine'): Promise<TestClient> =>
    gateways[gateway]!.connect({ auth: { 'x-token': token } });
  const served = async (client: TestClient) => await client.ask('workspace.unsubscribe', { workspace_ids: [] });

  it('close the oldest socket above the limit on any gateway', async () => {
    const other = await connect(0, 'other');
    const oldest = await connect(0);
    await sleep(2);
    const second = await connect(1);
    const third = await connect(1);
    const fourth = await connect(1);
    expect(await oldest.next('session.ending')).toEqual({ code: 'too_many_sockets', reconnect: false, in_ms: 0 });
    expect(await oldest.disconnected).toBe('io server disconnect');
    for (const client of [other, second, third, fourth]) expect(await served(client)).toMatchObject({ ok: true });
  });

  it('count streams and sockets of a user together', async () => {
    const workspaces = [WORKSPACE];
    const oldest = await openStream(gateways[0]!.url, { workspaces });
    await oldest.next('workspace.subscribed');
    const others = [await connect(1), await connect(0)];
    const newest = await openStream(gateways[1]!.url, { workspaces });
    expect(await oldest.next('session.ending')).toEqual({ code: 'too_many_sockets', reconnect: false, in_ms: 0 });
    await oldest.ended;
    for (const client of others) expect(await served(client)).toMatchObject({ ok: true });
    await newest.next('workspace.subscribed');
    newest.close();
  });

  it('close the sockets of a revoked session with its code', async () => {
    const [here, there, other] = [await connect(0), await connect(1), await connect(1, 'other')];
    expect(await orchestrator.publishSessionEnd({ v: 1, user_id: userId, token_hash: PHONE, code: 'logged_out' })).toBe(
      true,
    );
    for (const client of [here, there]) {
      expect(await client.next('session.ending')).toEqual({ code: 'logged_out', reconnect: false, in_ms: 0 });
      expect(await client.disconnected).toBe('io server disconnect');
    }
    expect(await served(other)).toMatchObject({ ok: true });
  });

  it('emit the events of a user to all sockets of the user, and to no other', async () => {
    const [here, there, other] = [await connect(0), await connect(1), await connect(1, 'other')];
    const workspace_id = crypto.randomUUID();
    const deleted = { v: 1, event: 'workspace.deleted', payload: { workspace_id } } as const;
    orchestrator.publishUserEvent({ ...deleted, user_id: userId });
    for (const client of [here, there]) expect(await client.next('workspace.deleted')).toEqual({ workspace_id });
    expect(await served(other)).toMatchObject({ ok: true });
    expect(other.names()).toEqual([]);
  });
});

/** Forwards each connection to one ready gateway, as a Service does. */
async function startService(ready: () => readonly TestGateway[]) {
  let next = 0;
  const server = createServer((client) => {
    const gateways = ready();
    const { port } = new URL(gateways[next++ % gateways.length]!.url);
    const upstream = connectTcp(Number(port), '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      from.on('error', () => undefined).once('close', () => to.destroy());
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

describeWith('valkey', 'a rolling restart of two gateways', () => {
  const CLIENTS = 60;

  it.each([
    ['while the orchestrator responds', false],
    ['while the orchestrator is unavailable', true],
  ])('loses no socket of default clients %s', async (_what, away) => {
    const userIds = Array.from({ length: CLIENTS }, () => crypto.randomUUID());
    let orchestratorIsAway = false;
    const available = <Answer>(answer: Answer): Answer => {
      if (orchestratorIsAway) throw new ApiError('service_unavailable');
      return answer;
    };
    const startGateway = () =>
      startTestGateway({
        bus: createRedisBus({ url, logger: silentLogger }),
        settings: { shutdownPerSecond: 200, shutdownWindowMs: 500, handshakePatienceMs: 0 },
        orchestrator: {
          authenticate: async (credentials) =>
            available({ user_id: userIds[Number(credentials['x-token'])]!, expires_at: null, token_hash: PHONE }),
          endedSessions: async () => available({ ended: [] }),
        },
      });
    let ready = [await startGateway(), await startGateway()];
    const service = await startService(() => ready);
    const sessions: Set<string>[] = [];
    const refusals: Error[] = [];
    const clients = userIds.map((_user, index) => {
      let resumeToken: string | undefined;
      // The default options, except that a TCP connection per poll would need sticky routing.
      const client = io(`${service.url}/v1`, {
        transports: ['websocket'],
        forceNew: true,
        auth: (send) => send({ 'x-token': String(index), ...(resumeToken && { resume_token: resumeToken }) }),
      });
      const seen = (sessions[index] = new Set<string>());
      client.on('session.ready', (session: { session_id: string; resume_token: string }) => {
        seen.add(session.session_id);
        resumeToken = session.resume_token;
      });
      client.on('connect_error', (error) => client.active || refusals.push(error));
      return client;
    });
    try {
      await eventually(() => sessions.every(({ size }) => size === 1));
      orchestratorIsAway = away;
      for (const old of ready) {
        const started = await startGateway();
        ready = [...ready.filter((gateway) => gateway !== old), started];
        await old.shutDown();
        await eventually(() => clients.every(({ connected }) => connected));
        await old.close();
      }
      // Each client was moved at least once, in one session.
      const sockets = async () => {
        const lines = await Promise.all(ready.map((gateway) => gateway.metric('uswarm_gateway_sockets')));
        return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
      };
      // A client may not have noticed yet that its connection was closed.
      expect(await eventually(sockets, { until: (count) => count === CLIENTS })).toBe(CLIENTS);
      expect(sessions.map(({ size }) => size)).toEqual(clients.map(() => 1));
      expect(refusals).toEqual([]);
    } finally {
      for (const client of clients) client.disconnect();
      for (const gateway of ready) await gateway.close();
      service.close();
    }
  });
});
