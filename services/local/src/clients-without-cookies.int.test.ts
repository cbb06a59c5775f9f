import { randomUUID } from 'node:crypto';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient } from '@uswarm/testkit/test-client';
import { io, type ManagerOptions, type Socket } from 'socket.io-client';
import { type FurtherGateway, startFurtherGateway } from '../test/further-gateway.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const CLIENTS = 10;
/** Longer than the interval of pings, and than a poll lasts. */
const WATCHED_MS = 30_000;
/** The clients have different users, who otherwise exceed the limit of sockets. */
const SOCKETS_PER_USER = '0';

/** A load balancer that sends each connection to the next gateway. A client in Node.js opens one for each request of polling. */
async function startRoundRobin(ports: readonly number[]): Promise<Server> {
  let next = 0;
  const server = createServer((client) => {
    const gateway = connect(ports[(next += 1) % ports.length]!, '127.0.0.1');
    client.pipe(gateway).pipe(client);
    for (const [one, other] of [
      [client, gateway],
      [gateway, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

describeWith('valkey', 'clients without cookies behind a load balancer without affinity', () => {
  let services: SeparateServices;
  let gateways: FurtherGateway[];
  let balancer: Server;
  let user: { token: string; workspaceId: string };
  beforeAll(async () => {
    services = await startSeparateServices({ TURN_WORKERS: '0', RUNTIME_WORKERS: '0' });
    const env = { GATEWAY_PEER_HOST: '127.0.0.1', SOCKETS_PER_USER };
    gateways = [await startFurtherGateway(services, env), await startFurtherGateway(services, env)];
    balancer = await startRoundRobin(gateways.map(({ port }) => port));
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    const client = await startTestClient({ ...services, token });
    client.close();
    user = { token, workspaceId: client.workspaceId };
  });
  afterAll(async () => {
    balancer?.close();
    await Promise.all((gateways ?? []).map(({ program }) => program.stop()));
    await services?.close();
  });

  const clients: Socket[] = [];
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });

  function start(options: Partial<ManagerOptions> = {}) {
    const { port } = balancer.address() as AddressInfo;
    const faults: string[] = [];
    const socket = io(`http://127.0.0.1:${port}/v1`, { ...options, forceNew: true, auth: { 'x-token': user.token } });
    socket.on('connect_error', ({ message }) => faults.push(message));
    socket.on('disconnect', (reason) => faults.push(reason));
    clients.push(socket);
    return { socket, faults };
  }
  const subscribe = ({ socket }: { socket: Socket }): Promise<object> =>
    socket.timeout(5_000).emitWithAck('workspace.subscribe', { workspace_ids: [user.workspaceId] });
  const isUpgraded = ({ connected, io: { engine } }: Socket): boolean =>
    connected && engine.transport.name === 'websocket';
  const metric = async (name: string): Promise<number[]> =>
    Promise.all(
      gateways.map(async ({ metrics }) =>
        Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)`, 'm').exec(await metrics())?.[1]),
      ),
    );

  it('are connected within 10 s with default options, and stay connected', async () => {
    const started = Array.from({ length: CLIENTS }, () => start());
    await eventually(() => started.every(({ socket }) => socket.connected), { timeoutMs: 10_000 });
    await Promise.all(started.map(subscribe));
    await sleep(WATCHED_MS);
    expect(started.flatMap(({ faults }) => faults)).toEqual([]);
    expect(started.map(({ socket }) => socket.io.engine.transport.name)).toEqual(Array(CLIENTS).fill('websocket'));
    // Otherwise the load balancer has not sent any client to another gateway.
    expect(Math.max(...(await metric('uswarm_gateway_forwarding')))).toBeGreaterThan(0);
    expect(await metric('uswarm_gateway_forward_failures_total')).toEqual([0, 0]);
  });

  it('can only poll, for as long as they want', async () => {
    const started = Array.from({ length: CLIENTS }, () => start({ transports: ['polling'] }));
    await eventually(() => started.every(({ socket }) => socket.connected), { timeoutMs: 10_000 });
    for (let round = 0; round < 5; round += 1) await Promise.all(started.map(subscribe));
    await sleep(WATCHED_MS);
    await Promise.all(started.map(subscribe));
    expect(started.flatMap(({ faults }) => faults)).toEqual([]);
  });

  it('cause no forwarded request if they use only WebSockets', async () => {
    const started = Array.from({ length: CLIENTS }, () => start({ transports: ['websocket'] }));
    await eventually(() => started.every(({ socket }) => socket.connected), { timeoutMs: 10_000 });
    await Promise.all(started.map(subscribe));
    expect(await metric('uswarm_gateway_forwarding')).toEqual([0, 0]);
  });

  it('connect again by themselves after one of the gateways was killed', async () => {
    const started = Array.from({ length: CLIENTS }, () => start());
    // A client that loses its WebSocket while it changes to it notices this only by the missing ping, after up to 45 s.
    await eventually(() => started.every(({ socket }) => isUpgraded(socket)), { timeoutMs: 10_000 });
    const [killed] = gateways;
    await killed!.program.stop('SIGKILL');
    const { port } = killed!;
    gateways[0] = await startFurtherGateway(services, { port, GATEWAY_PEER_HOST: '127.0.0.1', SOCKETS_PER_USER });
    const isServed = async () =>
      started.every(({ socket }) => socket.connected) &&
      (await Promise.allSettled(started.map(subscribe))).every(({ status }) => status === 'fulfilled');
    expect(await eventually(isServed, { timeoutMs: 60_000 })).toBe(true);
  });
});
