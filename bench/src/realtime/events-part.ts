import { setTimeout as sleep } from 'node:timers/promises';
import { CloseStack, silentLogger } from '@uswarm/service-kit';
import { type Latency, latencyOf } from '../load/percentiles.js';
import { BenchError } from '../settings.js';
import { monotonicMs } from '../turns/observations.js';
import { cpuSeconds } from '../world/processes.js';
import { connectAll, startClients } from './clients/client-process.js';
import { PROBE } from './clients/commands.js';
import type { PartResult, RealtimePart } from './part.js';
import { PEERS, startPeer } from './peers.js';
import { createPeerPublisher, createProbes } from './publish-probes.js';
import { type RealtimeWorld, startRealtimeWorld } from './realtime-world.js';

const FULL = { sockets: 600, perSecond: 1_000, seconds: 8 };
const SMALL = { sockets: 30, perSecond: 100, seconds: 1 };
const GATEWAYS = [1, 2, 3];

export interface Events {
  name: string;
  /** Events that one server core delivers per second, by processor time. */
  perCore: number;
  latency: Latency;
}

function eventsResult(events: readonly Events[]): PartResult {
  return {
    heads: ['servers', 'events per s and core', 'p50', 'p99'],
    rows: events.map(({ name, perCore, latency: { p50, p99 } }) => [
      name,
      perCore.toFixed(0),
      `${p50.toFixed(1)} ms`,
      `${p99.toFixed(1)} ms`,
    ]),
    goals: [],
    figures: events,
  };
}

interface Servers {
  name: string;
  kind: 'uswarm' | (typeof PEERS)[number];
  urls: readonly string[];
  pids: readonly number[];
  publish: (workspaceId: string) => void;
}

const cpuOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + (cpuSeconds(pid) ?? Number.NaN), 0);

/** Each socket has its own workspace; the events go to them in turn. @throws BenchError if an event does not arrive */
async function measureEvents(
  world: RealtimeWorld,
  { name, kind, urls, pids, publish }: Servers,
  { sockets, perSecond, seconds }: typeof FULL,
  stack: CloseStack,
): Promise<Events> {
  const clients = startClients(stack);
  const specs = Array.from({ length: sockets }, (_, user) => ({
    ...world.spec(urls[user % urls.length] ?? '', user, 1),
    kind,
  }));
  await connectAll([clients], specs);
  const rooms = specs.map(({ workspaceIds }) => workspaceIds[0] ?? '');
  const warmUp = perSecond;
  let [cpu, from] = [0, 0];
  const start = performance.now();
  for (let n = 0; n < warmUp + perSecond * seconds; n += 1) {
    const early = start + (n * 1_000) / perSecond - performance.now();
    if (early > 0) await sleep(early);
    if (n === warmUp) {
      await clients.ask<'probes'>({ do: 'probes' });
      [cpu, from] = [cpuOf(pids), n];
    }
    publish(rooms[n % rooms.length] ?? '');
  }
  await sleep(1_000);
  const spent = cpuOf(pids) - cpu;
  const seen = await clients.ask<'probes'>({ do: 'probes' });
  if (from === 0 || seen.length < perSecond * seconds)
    throw new BenchError(`${name}: only ${seen.length} events arrived.`);
  return { name, perCore: seen.length / spent, latency: latencyOf(seen) };
}

async function startGateways(world: RealtimeWorld, count: number, stack: CloseStack): Promise<Servers> {
  const gateways = await Promise.all(
    Array.from({ length: count }, (_, n) => world.startGateway(`gateway-${n}`, stack)),
  );
  return {
    name: count === 1 ? 'uswarm, 1 gateway' : `uswarm, ${count} gateways`,
    kind: 'uswarm',
    urls: gateways.map(({ url }) => url),
    pids: gateways.map(({ pid }) => pid),
    publish: createProbes(world, stack),
  };
}

async function startBare(world: RealtimeWorld, peer: (typeof PEERS)[number], stack: CloseStack): Promise<Servers> {
  const { url, pid } = await startPeer(peer, world.valkey.url, stack);
  const publish = await createPeerPublisher(world.valkey.url, stack);
  return {
    name: `bare ${peer}`,
    kind: peer,
    urls: [url],
    pids: [pid],
    publish: (room) => void publish(room, PROBE, { query: String(monotonicMs()) }),
  };
}

/** A gateway's cost per event from the bus. */
export const eventsPart: RealtimePart = {
  name: 'events',
  title: `Events from the bus to ${FULL.sockets} sockets with a workspace each, ${FULL.perSecond} per second`,
  async measure({ folder, small, stack, say }) {
    const settings = small ? SMALL : FULL;
    const world = await startRealtimeWorld(
      { folder, users: settings.sockets, longEvents: 10, workspacesPerUser: 1 },
      stack,
    );
    const starts = [
      ...GATEWAYS.map((count) => (own: CloseStack) => startGateways(world, count, own)),
      ...PEERS.map((peer) => (own: CloseStack) => startBare(world, peer, own)),
    ];
    const events: Events[] = [];
    for (const start of starts) {
      const own = new CloseStack(silentLogger);
      try {
        const measured = await measureEvents(world, await start(own), settings, own);
        say(`${measured.name}: ${measured.perCore.toFixed(0)} events/s per core`);
        events.push(measured);
      } finally {
        await own.close();
      }
    }
    return eventsResult(events);
  },
};
