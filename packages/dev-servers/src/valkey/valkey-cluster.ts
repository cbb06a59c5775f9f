import { join } from 'node:path';
import { freePort } from '../free-port.js';
import { type RunningValkey, startValkey } from './valkey.js';
import { untilValkey, valkeyCommand } from './valkey-command.js';

export interface ValkeyCluster {
  /** `redis-cluster://` that lists all nodes. */
  url: string;
  /** The primaries that were started first, then their replicas in the same order. */
  nodes: readonly RunningValkey[];
  /** The node that serves the slot now. */
  primaryOf(slot: number): Promise<RunningValkey>;
  /** Moves a slot key by key, as `valkey-cli --cluster reshard` does. */
  moveSlot(slot: number, to: RunningValkey): Promise<void>;
  /** Moves the slots from first to last, which one node has, in one step. @returns false if the server (before Valkey 9) cannot */
  moveRange(first: number, last: number, to: RunningValkey): Promise<boolean>;
  /** Kills the slot's primary. @returns it, once its replica serves the slot */
  failOver(slot: number): Promise<RunningValkey>;
  close(): Promise<void>;
}

const SLOTS = 16_384;
/** Milliseconds without a response after which nodes agree that another one has failed. */
const NODE_TIMEOUT_MS = 1_500;
/** It loses more of its data in a kill, but starts faster; channels need no data. */
const SETTINGS = {
  'cluster-enabled': 'yes',
  'cluster-node-timeout': String(NODE_TIMEOUT_MS),
  'cluster-replica-validity-factor': '0',
  'repl-diskless-sync-delay': '0',
  appendonly: 'no',
};

export interface ValkeyClusterOptions {
  /** The folder for the nodes' folders. */
  directory: string;
  /** Default: 3 */
  primaries?: number;
  /** Replicas per primary. Default: 1 */
  replicas?: number;
}

/** Starts a real cluster on loopback. @throws LocalError */
export async function startValkeyCluster({
  directory,
  primaries = 3,
  replicas = 1,
}: ValkeyClusterOptions): Promise<ValkeyCluster> {
  await using stack = new AsyncDisposableStack();
  const nodes: RunningValkey[] = [];
  const busPorts: number[] = [];
  for (let index = 0; index < primaries * (1 + replicas); index += 1) {
    const busPort = await freePort();
    const settings = { ...SETTINGS, 'cluster-port': String(busPort), 'cluster-config-file': 'nodes.conf' };
    const node = await startValkey({ directory: join(directory, `node-${index}`), settings });
    stack.defer(() => node.close());
    nodes.push(node);
    busPorts.push(busPort);
  }
  await joinNodes(nodes, busPorts, primaries);
  const owned = stack.move();

  async function portOf(slot: number): Promise<number> {
    for (const { port } of nodes) {
      const ranges = await slotsAt(port).catch(() => []);
      const range = ranges.find(([from, to]) => from <= slot && slot <= to);
      // Only the owner knows for sure.
      if (range?.[2][1] === port) return port;
    }
    throw new Error(`no node serves slot ${slot}`);
  }
  const primaryOf = async (slot: number): Promise<RunningValkey> => {
    const port = await portOf(slot);
    const found = nodes.find((node) => node.port === port);
    if (found === undefined) throw new Error(`port ${port} is not a node`);
    return found;
  };

  return {
    url: `redis-cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    primaryOf,
    async moveSlot(slot, to) {
      const from = await primaryOf(slot);
      const ids = { from: await idOf(from.port), to: await idOf(to.port) };
      await moveSlot(String(slot), { from, to, ids });
    },
    async moveRange(first, last, to) {
      const from = await primaryOf(first);
      if (!(await supportsRanges(from.port))) return false;
      const range = [first, last].map(String);
      await valkeyCommand(from.port, 'CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', ...range, 'NODE', await idOf(to.port));
      await untilValkey('moving slots', async () => (await primaryOf(first)) === to);
      return true;
    },
    async failOver(slot) {
      const killed = await primaryOf(slot);
      await killed.kill();
      const others = nodes.filter((node) => node !== killed);
      await untilValkey('the failover', async () => {
        for (const { port } of others) {
          const ranges = await slotsAt(port).catch(() => undefined);
          if (ranges?.some(([from, to, [, owner]]) => from <= slot && slot <= to && owner === killed.port))
            return false;
        }
        return true;
      });
      return killed;
    },
    close: () => owned.disposeAsync(),
  };
}

const idOf = (port: number): Promise<string> => valkeyCommand<string>(port, 'CLUSTER', 'MYID');

type SlotRange = [from: number, to: number, primary: [host: string, port: number], ...replicas: unknown[]];
const slotsAt = (port: number): Promise<SlotRange[]> => valkeyCommand<SlotRange[]>(port, 'CLUSTER', 'SLOTS');

async function joinNodes(
  nodes: readonly RunningValkey[],
  busPorts: readonly number[],
  primaries: number,
): Promise<void> {
  const [first] = nodes;
  if (first === undefined) return;
  const share = Math.ceil(SLOTS / primaries);
  for (const [index, { port }] of nodes.entries()) {
    await valkeyCommand(port, 'CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
    if (index > 0)
      await valkeyCommand(first.port, 'CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPorts[index]));
    if (index >= primaries) continue;
    const range = [index * share, Math.min(SLOTS, (index + 1) * share) - 1].map(String);
    await valkeyCommand(port, 'CLUSTER', 'ADDSLOTSRANGE', ...range);
  }
  for (const { port } of nodes) {
    await untilValkey('joining the cluster', async () => {
      const known = await valkeyCommand<string>(port, 'CLUSTER', 'NODES');
      return known.trim().split('\n').length === nodes.length && !known.includes('handshake');
    });
  }
  for (const [index, { port }] of nodes.entries()) {
    if (index < primaries) continue;
    const primary = nodes[index % primaries];
    if (primary !== undefined) await valkeyCommand(port, 'CLUSTER', 'REPLICATE', await idOf(primary.port));
  }
  for (const { port } of nodes) {
    await untilValkey('the cluster’s start', async () => {
      const isOk = (await valkeyCommand<string>(port, 'CLUSTER', 'INFO')).includes('cluster_state:ok');
      const ranges = await slotsAt(port);
      return (
        isOk &&
        ranges.length === primaries &&
        ranges.every((range) => range.length === 3 + nodes.length / primaries - 1)
      );
    });
  }
}

async function supportsRanges(port: number): Promise<boolean> {
  const help = await valkeyCommand<string[]>(port, 'CLUSTER', 'HELP');
  return help.some((line) => line.startsWith('MIGRATESLOTS'));
}

interface Move {
  from: RunningValkey;
  to: RunningValkey;
  ids: { from: string; to: string };
}

async function moveSlot(slot: string, { from, to, ids }: Move): Promise<void> {
  await valkeyCommand(to.port, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids.from);
  await valkeyCommand(from.port, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids.to);
  for (;;) {
    const keys = await valkeyCommand<string[]>(from.port, 'CLUSTER', 'GETKEYSINSLOT', slot, '100');
    if (keys.length === 0) break;
    await valkeyCommand(from.port, 'MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...keys);
  }
  await valkeyCommand(to.port, 'CLUSTER', 'SETSLOT', slot, 'NODE', ids.to);
  await valkeyCommand(from.port, 'CLUSTER', 'SETSLOT', slot, 'NODE', ids.to);
}
