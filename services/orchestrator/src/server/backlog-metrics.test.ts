import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Registry } from '@uswarm/service-kit';
import { registerBacklog } from './backlog-metrics.js';
import type { Backlog } from './backlog.store.js';
import { NO_TRANSACTION } from '../../test/transaction.js';

const NOTHING: Backlog = { turns: [], jobs: [], events: { unpublished: 0, oldestAgeS: 0 }, runtimes: [] };
const DEADLINE_MS = 10;

describe('registerBacklog', () => {
  /** The test ends the store's first read; later reads end immediately. */
  function createFixture() {
    const first = Promise.withResolvers<Backlog>();
    let reads = 0;
    const registry = new Registry();
    const store = {
      readBacklog: () => {
        reads += 1;
        return reads === 1 ? first.promise : Promise.resolve(NOTHING);
      },
    };
    registerBacklog(registry, {
      database: NO_TRANSACTION,
      store,
      kinds: [],
      deadlineMs: DEADLINE_MS,
      maxAgeMs: DEADLINE_MS,
    });
    const scrape = async (): Promise<string> => {
      await sleep(2 * DEADLINE_MS);
      const text = await registry.metrics();
      return /^uswarm_database_up (\d)$/m.exec(text)?.[1] ?? 'nothing';
    };
    return { first, reads: () => reads, scrape };
  }

  it('starts no read while the previous one is in progress', async () => {
    const { reads, scrape } = createFixture();
    expect([await scrape(), await scrape(), await scrape()]).toEqual(['0', '0', '0']);
    expect(reads()).toBe(1);
  });

  it.each<[string, (read: PromiseWithResolvers<Backlog>) => void]>([
    ['returned late', (read) => read.resolve(NOTHING)],
    ['failed late', (read) => read.reject(new Error('unavailable'))],
  ])('reads again after the previous read %s', async (_how, end) => {
    const { first, reads, scrape } = createFixture();
    await scrape();
    end(first);
    expect({ up: await scrape(), reads: reads() }).toEqual({ up: '1', reads: 2 });
  });
});
