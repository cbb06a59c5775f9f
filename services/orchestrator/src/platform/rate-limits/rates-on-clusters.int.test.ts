import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startValkeyCluster, startValkeySentinels, untilValkey, valkeyCommand } from '@uswarm/dev-servers';
import { createLogger, createMetrics } from '@uswarm/service-kit';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { createRateLimits, type RateLimits } from './rate-limits.js';

const BURST = 200;
/** A window longer than any test. */
const config = {
  RATE_IP_PER_S: 0,
  RATE_IP_BURST: 1,
  RATE_USER_PER_S: 0,
  RATE_USER_BURST: 1,
  RATE_SENDS_PER_S: 1,
  RATE_SENDS_BURST: BURST,
  RATE_SEARCH_PER_S: 0,
  RATE_SEARCH_BURST: 1,
  RATE_TRIGGERS_PER_S: 0,
  RATE_TRIGGERS_BURST: 1,
};
/** Milliseconds; long enough that a busy machine does not cause local counting. */
const PATIENT_MS = 15_000;
const keyOf = (userId: string): string => `uswarm:rate:sends:${userId}`;

describeWith('valkey', 'rate limits of several replicas with more than one Valkey server', () => {
  let folder: string;
  let lines: string[];
  const replicas: RateLimits[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-rates-'));
  });
  beforeEach(() => void (lines = []));
  afterEach(() => {
    for (const replica of replicas.splice(0)) replica.close();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const open = (redisUrl: string): RateLimits => {
    const logger = createLogger({ service: 'test', destination: { write: (line: string) => void lines.push(line) } });
    const metrics = createMetrics('test');
    const replica = createRateLimits({ config, redisUrl, redisDeadlineMs: PATIENT_MS, metrics, logger });
    replicas.push(replica);
    return replica;
  };
  const accepts = (replica: RateLimits, userId: string): Promise<boolean> =>
    replica.send(userId).then(
      () => true,
      () => false,
    );
  /** Two replicas that see each other's counts. */
  async function sharing(pair: readonly RateLimits[]): Promise<void> {
    const isShared = async () => {
      const userId = crypto.randomUUID();
      const remaining: (number | undefined)[] = [];
      for (const replica of pair) remaining.push((await replica.send(userId))?.remaining);
      return remaining.join();
    };
    const expected = `${BURST - 1},${BURST - 2}`;
    expect(await eventually(isShared, { until: (seen) => seen === expected })).toBe(expected);
  }

  it('share one limit on a cluster, also while the counter’s slot moves and after a primary was killed', async () => {
    const cluster = await startValkeyCluster({ directory: join(folder, 'cluster') });
    try {
      const pair = [open(cluster.url), open(cluster.url)];
      await sharing(pair);
      lines.length = 0;
      const userId = crypto.randomUUID();
      const slot = await valkeyCommand<number>(cluster.nodes[0]!.port, 'CLUSTER', 'KEYSLOT', keyOf(userId));
      const owner = await cluster.primaryOf(slot);
      const moved = cluster.moveSlot(
        slot,
        cluster.nodes.slice(0, 3).find((node) => node !== owner)!,
      );
      let accepted = 0;
      for (let sent = 0; sent < 2 * BURST; sent += 1) if (await accepts(pair[sent % 2]!, userId)) accepted += 1;
      await moved;
      expect({ accepted, lines }).toEqual({ accepted: BURST, lines: [] });
      await cluster.failOver(slot);
      await sharing(pair);
      expect(lines.join('')).toContain('rate limiter: Redis recovered');
    } finally {
      await cluster.close();
    }
  });

  it('follow a counter whose slot is half moved', async () => {
    const cluster = await startValkeyCluster({ directory: join(folder, 'half'), replicas: 0 });
    try {
      const pair = [open(cluster.url), open(cluster.url)];
      await sharing(pair);
      const [kept, other] = [crypto.randomUUID(), crypto.randomUUID()];
      const slot = await valkeyCommand<number>(cluster.nodes[0]!.port, 'CLUSTER', 'KEYSLOT', keyOf(kept));
      const from = await cluster.primaryOf(slot);
      const to = cluster.nodes.find((node) => node !== from)!;
      // A new key of a slot that is moving is created at its new node, as the old one answers with ASK.
      const ids = { from: await id(from.port), to: await id(to.port) };
      await valkeyCommand(to.port, 'CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', ids.from);
      await valkeyCommand(from.port, 'CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', ids.to);
      expect((await pair[0]!.send(kept))?.remaining).toBe(BURST - 1);
      expect((await pair[1]!.send(kept))?.remaining).toBe(BURST - 2);
      expect(await valkeyCommand(from.port, 'CLUSTER', 'COUNTKEYSINSLOT', String(slot))).toBe(0);
      expect(await valkeyCommand(to.port, 'CLUSTER', 'COUNTKEYSINSLOT', String(slot))).toBe(1);
      expect((await pair[0]!.send(other))?.remaining).toBe(BURST - 1);
      expect(lines).toEqual([]);
    } finally {
      await cluster.close();
    }
  });

  it('share one limit after sentinels have replaced the primary', async () => {
    const valkey = await startValkeySentinels({ directory: join(folder, 'sentinels') });
    try {
      const pair = [open(valkey.url), open(valkey.url)];
      await sharing(pair);
      const userId = crypto.randomUUID();
      await pair[0]!.send(userId);
      const killed = await valkey.failOver();
      await sharing(pair);
      const { port } = await valkey.primary();
      await untilValkey('the counter', async () => Number(await valkeyCommand(port, 'DBSIZE')) > 0);
      expect(port).not.toBe(killed.port);
    } finally {
      await valkey.close();
    }
  });
});

const id = (port: number): Promise<string> => valkeyCommand<string>(port, 'CLUSTER', 'MYID');
