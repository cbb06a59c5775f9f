import { setTimeout as sleep } from 'node:timers/promises';
import { CloseStack, silentLogger } from '@uswarm/service-kit';
import { type Latency, latencyOf } from '../load/percentiles.js';
import { startBalancer } from './balancer.js';
import { type ClientProcess, connectAll, startClients } from './clients/client-process.js';
import type { ClientState } from './clients/commands.js';
import { countStatements } from './count-statements.js';
import { addEvents } from './add-events.js';
import { startPeer } from './peers.js';
import type { RealtimeWorld } from './realtime-world.js';

/** Effect on clients when their server ends. */
export interface Restart {
  name: string;
  sockets: number;
  /** Milliseconds from a client's disconnect until it is subscribed again, with its own back-off. */
  outage: Latency;
  /** Milliseconds until the last client is back. */
  allBackMs: number;
  /** Sockets that did not come back, and workspaces of which a client does not know the last event. */
  lost: number;
  behind: number;
  /** The orchestrator's statements per socket beyond those at rest; undefined without an orchestrator. */
  statementsPerSocket?: number;
}

const PROCESSES = 2;
/** The most frequent statements. */
const SHOWN = 8;
const WITHIN_MS = 90_000;
const LOOK_MS = 250;
const REST_MS = 5_000;

async function statesOf(processes: readonly ClientProcess[]): Promise<ClientState[]> {
  return (await Promise.all(processes.map((each) => each.ask<'states'>({ do: 'states' })))).flat();
}

const isBack = ({ outages }: ClientState): boolean => outages.every(({ to }) => to !== null);
const countOf = (states: readonly ClientState[]): number => states.flatMap(({ outages }) => outages).length;

/** Waits until clients have lost their connection this often, and all are back. */
async function allBack(processes: readonly ClientProcess[], outages: number): Promise<ClientState[]> {
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    const states = await statesOf(processes);
    const complete = countOf(states) >= outages && states.every(isBack);
    if (complete || performance.now() > deadline) return states;
    await sleep(LOOK_MS);
  }
}

function summary(name: string, states: readonly ClientState[]): Omit<Restart, 'behind'> {
  const outages = states.flatMap((state) => state.outages);
  const back = outages.flatMap(({ from, to }) => (to === null ? [] : [{ from, to }]));
  return {
    name,
    sockets: states.length,
    outage: latencyOf(back.map(({ from, to }) => to - from)),
    allBackMs: Math.max(...back.map(({ to }) => to)) - Math.min(...back.map(({ from }) => from)),
    lost: states.filter((state) => !isBack(state)).length,
  };
}

/** The gateway of all sockets is killed; another one runs. */
export async function measureDeadGateway(
  world: RealtimeWorld,
  sockets: number,
  say: (line: string) => void,
): Promise<Restart> {
  const stack = new CloseStack(silentLogger);
  try {
    const balancer = await startBalancer(stack);
    const first = await world.startGateway('first', stack);
    const second = await world.startGateway('second', stack);
    await balancer.use(first.url);
    const processes = Array.from({ length: PROCESSES }, () => startClients(stack));
    await connectAll(
      processes,
      Array.from({ length: sockets }, (_, user) => world.spec(balancer.urlOf(user), user, 1)),
    );
    await sleep(REST_MS);
    world.statements.take();
    await sleep(REST_MS);
    const atRestPerMs = world.statements.take().length / REST_MS;
    const from = performance.now();
    await balancer.use(second.url);
    await first.kill();
    const states = await allBack(processes, sockets);
    const sent = world.statements.take();
    const more = sent.length - atRestPerMs * (performance.now() - from);
    for (const [count, text] of countStatements(sent, []).most.slice(0, SHOWN)) say(`${count} × ${text}`);
    const behind = await countBehind(world, states);
    return { ...summary('gateway killed', states), behind, statementsPerSocket: Math.max(0, more) / sockets };
  } finally {
    await stack.close();
  }
}

const SHARES = 10;
const EVENTS_EACH_MS = 1_000;

/** Events while gateways restart. @returns ends them */
function publishEvents(world: RealtimeWorld): () => Promise<void> {
  let stopped = false;
  const publishing = (async () => {
    for (let round = 0; !stopped; round += 1) {
      await addEvents(world, SHARES, round % SHARES);
      await sleep(EVENTS_EACH_MS);
    }
  })();
  return async () => {
    stopped = true;
    await publishing;
  };
}

/** Longer than the positions are checked. */
const SETTLE_MS = 12_000;

/** The workspaces of which a client does not know the last event. */
async function countBehind(world: RealtimeWorld, states: readonly ClientState[]): Promise<number> {
  const { rows } = await world.client.query<{ id: string; last_seq: string }>('SELECT id, last_seq FROM workspaces');
  const heads = new Map(rows.map(({ id, last_seq }) => [id, Number(last_seq)]));
  return states.flatMap(({ applied }) => Object.entries(applied)).filter(([id, seq]) => heads.get(id) !== seq).length;
}

/** Both gateways are restarted, one after the other, as in an update, while events arrive. */
export async function measureRollingRestart(world: RealtimeWorld, sockets: number): Promise<Restart> {
  const stack = new CloseStack(silentLogger);
  try {
    const balancer = await startBalancer(stack);
    const first = await world.startGateway('first', stack);
    const second = await world.startGateway('second', stack);
    await balancer.use(first.url, second.url);
    const processes = Array.from({ length: PROCESSES }, () => startClients(stack));
    await connectAll(
      processes,
      Array.from({ length: sockets }, (_, user) => world.spec(balancer.urlOf(user), user, 1)),
    );
    const stop = publishEvents(world);
    for (const [leaving, staying] of [
      [first, second],
      [second, first],
    ] as const) {
      const outages = countOf(await statesOf(processes));
      await balancer.use(staying.url);
      await leaving.stop();
      await allBack(processes, outages + 1);
      await leaving.start();
      await balancer.use(first.url, second.url);
    }
    await stop();
    await sleep(SETTLE_MS);
    const states = await statesOf(processes);
    return { ...summary('rolling restart of two gateways', states), behind: await countBehind(world, states) };
  } finally {
    await stack.close();
  }
}

/** A bare socket.io server is killed; another one runs. */
export async function measureDeadPeer(world: RealtimeWorld, sockets: number): Promise<Restart> {
  const stack = new CloseStack(silentLogger);
  try {
    const balancer = await startBalancer(stack);
    const first = await startPeer('socket.io', world.valkey.url, stack);
    const second = await startPeer('socket.io', world.valkey.url, stack);
    await balancer.use(first.url);
    const processes = Array.from({ length: PROCESSES }, () => startClients(stack));
    const clients = Array.from({ length: sockets }, (_, user) => world.spec(balancer.urlOf(user), user, 1));
    await connectAll(
      processes,
      clients.map((client) => ({ ...client, kind: 'socket.io' })),
    );
    await balancer.use(second.url);
    process.kill(first.pid, 'SIGKILL');
    return { ...summary('bare socket.io killed', await allBack(processes, sockets)), behind: 0 };
  } finally {
    await stack.close();
  }
}
