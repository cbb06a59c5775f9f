import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startValkey, startValkeyCluster, valkeyCommand } from '@uswarm/dev-servers';
import { createRedisBus, type EventBus } from '@uswarm/event-bus';
import { silentLogger } from '@uswarm/service-kit';
import { BenchError } from '../settings.js';
import type { PartContext, PartResult, RealtimePart } from './part.js';
import { probeEnvelope } from './publish-probes.js';

/** Each subscribes to every workspace. */
const GATEWAYS = 2;
/** Publications that wait for a response, as a relay has. */
const IN_FLIGHT = 256;
const LOST_AFTER_MS = 10_000;
const QUERY = 'x'.repeat(200);

interface Topology {
  name: string;
  url: string;
  /** Server ports. */
  ports: readonly number[];
}

interface Figures {
  name: string;
  /** Deliveries per second on this machine. */
  rate: number;
  /** Processor time per delivery in ms: all servers together, and the busiest one. */
  all: number;
  busiest: number;
  /** Processor time per delivery in ms: publisher and subscribers together. */
  clients: number;
  /** Bytes per subscription in all servers together. */
  subscriptionBytes: number;
}

async function readInfo(port: number, section: string, names: readonly string[]): Promise<number> {
  const text = await valkeyCommand<string>(port, 'INFO', section);
  return names.reduce((sum, name) => sum + Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(text)?.[1]), 0);
}
const processorSeconds = (port: number): Promise<number> => readInfo(port, 'cpu', ['used_cpu_user', 'used_cpu_sys']);
const usedBytes = (port: number): Promise<number> => readInfo(port, 'memory', ['used_memory']);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Publishes events to all workspaces in turn, as a relay does, until all have arrived. @throws BenchError when they stop arriving */
async function deliver(publisher: EventBus, ids: readonly string[], events: number, arrived: () => number) {
  const expected = arrived() + events * GATEWAYS;
  let next = 0;
  const publish = async (): Promise<void> => {
    while (next < events) {
      const id = ids[next % ids.length] ?? '';
      next += 1;
      await publisher.publish(probeEnvelope(id, 'bench', QUERY));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, publish));
  let last = { arrived: arrived(), at: performance.now() };
  while (arrived() < expected) {
    await new Promise((resolve) => setImmediate(resolve));
    if (arrived() > last.arrived) last = { arrived: arrived(), at: performance.now() };
    else if (performance.now() - last.at > LOST_AFTER_MS)
      throw new BenchError(`${expected - arrived()} deliveries were lost.`);
  }
}

async function measureTopology({ name, url, ports }: Topology, { small, stack, say }: PartContext): Promise<Figures> {
  const [workspaces, events] = small ? [50, 500] : [2_000, 100_000];
  const open = (): EventBus => {
    const bus = createRedisBus({ url, logger: silentLogger });
    stack.defer('bus', () => bus.close());
    return bus;
  };
  const publisher = open();
  const gateways = Array.from({ length: GATEWAYS }, open);
  const ids = Array.from({ length: workspaces }, () => randomUUID());
  let received = 0;
  const before = await Promise.all(ports.map(usedBytes));
  const count = (): void => void (received += 1);
  await Promise.all(gateways.flatMap((gateway) => ids.map((id) => gateway.subscribe(id, count))));
  const after = await Promise.all(ports.map(usedBytes));
  // Code that runs often is compiled first.
  await deliver(publisher, ids, events / 10, () => received);
  const servers = await Promise.all(ports.map(processorSeconds));
  const own = process.cpuUsage();
  const begun = performance.now();
  await deliver(publisher, ids, events, () => received);
  const seconds = (performance.now() - begun) / 1_000;
  const used = process.cpuUsage(own);
  const spent = (await Promise.all(ports.map(processorSeconds))).map((now, index) => now - (servers[index] ?? 0));
  const deliveries = events * GATEWAYS;
  const figures = {
    name,
    rate: deliveries / seconds,
    all: (sum(spent) * 1_000) / deliveries,
    busiest: (Math.max(...spent) * 1_000) / deliveries,
    clients: (used.user + used.system) / 1_000 / deliveries,
    subscriptionBytes: (sum(after) - sum(before)) / (workspaces * GATEWAYS),
  };
  say(`${name}: ${figures.rate.toFixed(0)} deliveries/s`);
  return figures;
}

async function measureShards(context: PartContext): Promise<Figures[]> {
  const { folder, stack } = context;
  // From an earlier run: a node keeps its cluster.
  await rm(folder, { recursive: true, force: true });
  const single = await startValkey({ directory: join(folder, 'single'), settings: { appendonly: 'no' } });
  stack.defer('Valkey', single.close);
  const cluster = await startValkeyCluster({ directory: join(folder, 'cluster'), replicas: 0 });
  stack.defer('cluster', cluster.close);
  return [
    await measureTopology({ name: 'one server', url: single.url, ports: [single.port] }, context),
    await measureTopology(
      { name: 'cluster with three primaries', url: cluster.url, ports: cluster.nodes.map(({ port }) => port) },
      context,
    ),
  ];
}

/** A server uses one core. */
const perServer = ({ busiest }: Figures): number => 1_000 / busiest;

function shardsResult(figures: readonly Figures[]): PartResult {
  const [one, three] = figures;
  const ratio = one === undefined || three === undefined ? Number.NaN : perServer(three) / perServer(one);
  return {
    heads: [
      'Valkey',
      'servers’ ms per 1,000 deliveries',
      'of the busiest',
      'clients’ ms per 1,000 deliveries',
      'deliveries/s here',
      'with a core per server (computed)',
      'bytes per subscription',
    ],
    rows: figures.map((each) => [
      each.name,
      (each.all * 1_000).toFixed(1),
      (each.busiest * 1_000).toFixed(1),
      (each.clients * 1_000).toFixed(1),
      each.rate.toFixed(0),
      perServer(each).toFixed(0),
      each.subscriptionBytes.toFixed(0),
    ]),
    goals: [['deliveries with three primaries, times one ≥ 1.5', `${ratio.toFixed(2)} ×`, ratio >= 1.5]],
    figures,
  };
}

export const shardsPart: RealtimePart = {
  name: 'shards',
  title: 'Bus on a Valkey cluster',
  measure: async (context) => shardsResult(await measureShards(context)),
};
