import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { startValkeyCluster, type ValkeyCluster, valkeyCommand } from '@uswarm/dev-servers';
import { silentLogger } from '@uswarm/service-kit';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { describeBus } from '../test/bus-contract.js';
import { type Load, startLoad } from '../test/load.js';
import type { EventBus } from './event-bus.js';
import { channelName, createRedisBus } from './redis.js';
import { slotOf } from './valkey/slot.js';

const WORKSPACES = 24;
/** Milliseconds for a failover by the servers and the move of all subscriptions. The documentation promises 5 s after it. */
const FAILOVER_MS = 20_000;

/** The user's rights at servers other than sentinels. */
async function documentedRights(): Promise<string[]> {
  const text = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
  const [, section = ''] = /^### Rate limiting$([^]*?)^###/m.exec(text) ?? [];
  const quoted = [...section.matchAll(/`([^`]+)`/g)].flatMap(([, words = '']) => words.split(' '));
  return quoted.filter((word) => /^[~&+](?!sentinel)/.test(word));
}

/** Redis before 7.2 has fewer commands. */
function unlessUnknown(error: unknown): void {
  if (!(error instanceof Error) || !error.message.includes('Unknown command')) throw error;
}

describeWith('valkey', 'the bus on a cluster', () => {
  let folder: string;
  const buses: EventBus[] = [];
  const loads: Load[] = [];
  const open = (url: string): EventBus => {
    const bus = createRedisBus({ url, logger: silentLogger, heartbeatMs: 100, answerDeadlineMs: 1_000 });
    buses.push(bus);
    return bus;
  };
  const startedLoad = async (url: string): Promise<Load> => {
    const load = await startLoad(open(url), open(url), WORKSPACES);
    loads.push(load);
    await load.delivered();
    return load;
  };
  /** Reports of one moment are made together, a little later. */
  const unreported = (load: Load): Promise<string[]> =>
    eventually(load.unreported, { until: (ids) => ids.length === 0, timeoutMs: 5_000 });
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-topologies-'));
  });
  afterEach(async () => {
    await Promise.all(loads.splice(0).map((load) => load.stop()));
    await Promise.all(buses.splice(0).map((bus) => bus.close()));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  let cluster: ValkeyCluster;
  beforeAll(async () => {
    cluster = await startValkeyCluster({ directory: join(folder, 'cluster') });
  }, 60_000);
  afterAll(() => cluster?.close());

  describeBus((options) => ({
    publisher: createRedisBus({ ...options, url: cluster.url, logger: silentLogger }),
    subscriber: createRedisBus({ ...options, url: cluster.url, logger: silentLogger }),
  }));

  it('computes slots as the servers do', async () => {
    const keys = [
      '',
      'ws:a',
      'ü',
      '{',
      '{}x',
      'a{b}c',
      'a{b',
      'a}{b}',
      '{{x}}',
      'a{}{b}',
      channelName(crypto.randomUUID()),
    ];
    const slots: Record<string, number> = {};
    for (const key of keys) slots[key] = await valkeyCommand(cluster.nodes[0]!.port, 'CLUSTER', 'KEYSLOT', key);
    expect(Object.fromEntries(keys.map((key) => [key, slotOf(key)]))).toEqual(slots);
  });

  it('counts the servers of the socket.io adapter at the node that has their channel', async () => {
    const servers = ['one', 'two'].map(() =>
      open(cluster.url).socketAdapter?.({ name: '/v1', server: { encoder: undefined } }),
    );
    const counted = () => servers[0]?.serverCount();
    expect(await eventually(counted, { until: (count) => count === 2 })).toBe(2);
  });

  it('delivers on all shards while slots move one by one, and reports each loss', async () => {
    const load = await startedLoad(cluster.url);
    const moved = load.workspaceIds.slice(0, 4).map((id) => slotOf(channelName(id)));
    const before = await Promise.all(moved.map((slot) => cluster.primaryOf(slot)));
    for (const [index, slot] of moved.entries()) {
      const other = cluster.nodes.slice(0, 3).find((node) => node !== before[index])!;
      await cluster.moveSlot(slot, other);
    }
    await load.delivered();
    expect(await unreported(load)).toEqual([]);
    // And back, which a comparison with the last known owners would not show.
    for (const [index, slot] of moved.entries()) await cluster.moveSlot(slot, before[index]!);
    await load.delivered();
    expect(await unreported(load)).toEqual([]);
  }, 60_000);

  it('needs only the rights that the documentation lists', async () => {
    const rights = await documentedRights();
    expect(rights).toEqual(expect.arrayContaining(['&ws:*', '+cluster|slots', '+asking']));
    const nodes = cluster.nodes.map(({ port }) => port);
    for (const port of nodes) {
      await valkeyCommand(port, 'ACL', 'SETUSER', 'uswarm', 'on', '>p:w');
      for (const right of rights) await valkeyCommand(port, 'ACL', 'SETUSER', 'uswarm', right).catch(unlessUnknown);
    }
    const url = cluster.url.replace('://', `://uswarm:${encodeURIComponent('p:w')}@`);
    const load = await startedLoad(url);
    const slot = slotOf(channelName(load.workspaceIds[0]!));
    const before = await cluster.primaryOf(slot);
    const other = cluster.nodes.slice(0, 3).find((node) => node !== before)!;
    for (const to of [other, before]) {
      await cluster.moveSlot(slot, to);
      await load.delivered();
    }
    expect(await unreported(load)).toEqual([]);
    const server = open(url).socketAdapter?.({ name: '/v1', server: { encoder: undefined } });
    await eventually(() => server?.serverCount(), { until: (count) => count === 1 });
    for (const port of nodes) expect(await valkeyCommand(port, 'ACL', 'LOG')).toEqual([]);
  }, 60_000);

  it('delivers after a third of the slots has moved in one step', async () => {
    const load = await startedLoad(cluster.url);
    const [, second, third] = cluster.nodes;
    // Slots 5,462 to 10,923 are the second node's.
    if (await cluster.moveRange(5_500, 10_900, third!)) await cluster.moveRange(5_500, 10_900, second!);
    await load.delivered();
    expect(await unreported(load)).toEqual([]);
  }, 60_000);

  it(
    'delivers after a primary was killed, and after it came back as a replica',
    async () => {
      const load = await startedLoad(cluster.url);
      const killed = await cluster.failOver(slotOf(channelName(load.workspaceIds[0]!)));
      await load.delivered();
      expect(await unreported(load)).toEqual([]);
      await killed.restart();
      await load.delivered();
      expect(buses.map((bus) => bus.healthy())).toEqual([true, true]);
    },
    FAILOVER_MS,
  );

  it(
    'delivers after a primary has hung',
    async () => {
      const load = await startedLoad(cluster.url);
      const hanging = await cluster.primaryOf(slotOf(channelName(load.workspaceIds[0]!)));
      process.kill(hanging.pid, 'SIGSTOP');
      try {
        await load.delivered();
        expect(await unreported(load)).toEqual([]);
      } finally {
        process.kill(hanging.pid, 'SIGCONT');
      }
      await load.delivered();
    },
    FAILOVER_MS,
  );
});
