import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createClient } from '@redis/client';
import { createMetrics, type Logger, createLogger, silentLogger } from '@uswarm/service-kit';
import { type RunningValkey, startValkey } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { connectRateLimitRedis } from './rate-limit-redis.js';
import { createRateLimits, type RateLimits } from './rate-limits.js';

const BURST = 50;
/** A window longer than any test. */
const config = {
  RATE_IP_PER_S: 0,
  RATE_IP_BURST: 1,
  RATE_USER_PER_S: 1,
  RATE_USER_BURST: BURST,
  RATE_SENDS_PER_S: 0,
  RATE_SENDS_BURST: 1,
  RATE_SEARCH_PER_S: 0,
  RATE_SEARCH_BURST: 1,
  RATE_TRIGGERS_PER_S: 0,
  RATE_TRIGGERS_BURST: 1,
};
/** Milliseconds; long enough that a busy machine does not cause local counting. */
const PATIENT_MS = 3_000;
const ada = { issuer: 'https://login.example.com', subject: 'ada@example.com' };

describeWith('valkey', 'rate limits of several replicas', () => {
  let directory: string;
  let valkey: RunningValkey;
  let replicas: RateLimits[];
  let lines: string[];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'uswarm-rates-'));
    valkey = await startValkey({ directory });
    lines = [];
    replicas = [];
  });
  afterEach(async () => {
    for (const replica of replicas) replica.close();
    await valkey.close();
    await rm(directory, { recursive: true });
  });

  const logger = (): Logger =>
    createLogger({ service: 'test', destination: { write: (line: string) => void lines.push(line) } });
  const warnings = (): string[] => lines.filter((line) => line.includes('"level":"warn"'));
  const open = (redisUrl: string): RateLimits => {
    const replica = createRateLimits({
      config,
      redisUrl,
      redisDeadlineMs: PATIENT_MS,
      metrics: createMetrics('test'),
      logger: logger(),
    });
    replicas.push(replica);
    return replica;
  };
  /** The counts in Redis. Only connected replicas write them. */
  async function counted(): Promise<number> {
    const client = createClient({ url: valkey.url });
    await client.connect();
    const keys = await client.keys('uswarm:rate:user:*');
    const values = await Promise.all(keys.map((key) => client.get(key)));
    await client.close();
    return values.reduce((sum, value) => sum + Number(value), 0);
  }
  /** Two replicas that are connected to Redis. Each has counted at least once. */
  async function twoConnected(): Promise<[RateLimits, RateLimits]> {
    const pair: [RateLimits, RateLimits] = [open(valkey.url), open(valkey.url)];
    for (const [index, replica] of pair.entries()) {
      const seen = async () => {
        await replica.call({ issuer: 'warm-up', subject: `${index} ${crypto.randomUUID()}` });
        return counted();
      };
      const before = await counted();
      expect(await eventually(seen, { until: (count) => count > before })).toBeGreaterThan(before);
    }
    return pair;
  }
  const take = (replica: RateLimits): Promise<boolean> =>
    replica.call(ada).then(
      () => true,
      () => false,
    );
  /** Sends `count` concurrent requests to both replicas. @returns the number of accepted ones */
  async function letThrough(over: RateLimits[], count: number): Promise<number> {
    const taken = Array.from({ length: count }, (_, n) => take(over[n % over.length]!));
    return (await Promise.all(taken)).filter(Boolean).length;
  }

  it('share one limit', async () => {
    expect(await letThrough(await twoConnected(), 3 * BURST)).toBe(BURST);
  });

  it('store no identity in Redis, and no key without an expiry', async () => {
    const [one] = await twoConnected();
    await one.call(ada);
    const client = createClient({ url: valkey.url });
    await client.connect();
    const keys = await client.keys('*');
    const times = await Promise.all(keys.map((key) => client.ttl(key)));
    await client.close();
    expect(keys.length).toBeGreaterThanOrEqual(2);
    expect(keys.join()).not.toContain('ada');
    expect(times.filter((seconds) => seconds < 0 || seconds > BURST)).toEqual([]);
  });

  it('are local per replica while Redis is down, and shared again afterwards', async () => {
    const pair = await twoConnected();
    expect(await letThrough(pair, 10)).toBe(10);
    await valkey.kill();
    // The recovery causes no rejection, and the limit is shared.
    expect(await letThrough([pair[0]], BURST + 20)).toBe(BURST);
    expect(await letThrough([pair[1]], BURST + 20)).toBe(BURST);
    expect(warnings()).toHaveLength(2);
    expect(warnings().join()).toContain('rate limiter: Redis unavailable, falling back to local counters');
    await valkey.restart();
    const before = await counted();
    const probe = async () => {
      for (const [index, replica] of pair.entries()) {
        await replica.call({ issuer: 'after', subject: `${index} ${crypto.randomUUID()}` });
      }
      return counted();
    };
    expect(await eventually(probe, { until: (count) => count >= before + 2 })).toBeGreaterThanOrEqual(before + 2);
    expect(lines.join('')).toContain('rate limiter: Redis recovered');
  });

  it('are local per replica while Redis hangs', async () => {
    const [one] = await twoConnected();
    process.kill(valkey.pid, 'SIGSTOP');
    try {
      expect(await letThrough([one], BURST + 20)).toBe(BURST);
    } finally {
      process.kill(valkey.pid, 'SIGCONT');
    }
  });

  it('use a new connection if Redis does not respond, also under traffic', async () => {
    const redis = connectRateLimitRedis({
      url: valkey.url,
      logger: silentLogger,
      heartbeatMs: 50,
      answerDeadlineMs: 500,
    });
    const ready = () => redis.client.isReady;
    expect(await eventually(ready, { until: Boolean })).toBe(true);
    const traffic = setInterval(
      () => void redis.client.eval('return 1', { keys: ['none'], arguments: [] }).catch(() => undefined),
      20,
    );
    try {
      process.kill(valkey.pid, 'SIGSTOP');
      expect(await eventually(ready, { until: (isReady) => !isReady })).toBe(false);
    } finally {
      process.kill(valkey.pid, 'SIGCONT');
      clearInterval(traffic);
    }
    expect(await eventually(ready, { until: Boolean })).toBe(true);
    redis.close();
  });

  it('are local per replica while Redis rejects commands, which is logged once', async () => {
    const admin = createClient({ url: valkey.url });
    await admin.connect();
    await admin.sendCommand(['ACL', 'SETUSER', 'channels', 'on', '>secret', '&ws:*', '+@pubsub', '+@connection']);
    await admin.close();
    const url = new URL(valkey.url);
    url.username = 'channels';
    url.password = 'secret';
    const replica = open(url.href);
    const refused = async () => {
      await replica.call({ issuer: 'warm-up', subject: crypto.randomUUID() });
      return warnings();
    };
    expect((await eventually(refused, { until: (seen) => seen.length > 0 })).join()).toContain('NOPERM');
    expect(await letThrough([replica], BURST + 20)).toBe(BURST);
    expect(warnings()).toHaveLength(1);
    expect(lines.join('')).not.toContain('secret');
  });

  it('apply from the first request, also before Redis is available', async () => {
    await valkey.kill();
    expect(await letThrough([open(valkey.url)], BURST + 20)).toBe(BURST);
  });
});
