import { expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createEventPruning } from './event-pruning.js';
import { NO_TRANSACTION } from '../../test/transaction.js';

it('event pruning creates the next partitions before it drops old ones, and runs again an hour later', async () => {
  const calls: unknown[][] = [];
  const record =
    (name: string) =>
    async (value: Date | number): Promise<number> => {
      calls.push([name, value instanceof Date ? value.toISOString() : value]);
      return 2;
    };
  const handle = createEventPruning({
    database: NO_TRANSACTION,
    store: { createPartitions: async (days) => void (await record('create')(days)), dropPartitions: record('drop') },
    gateways: { pruneGateways: async (_db, before) => void (await record('gateways')(before)) },
    keepMs: 7 * 86_400_000,
    clock: { now: () => new Date('2026-11-21T10:00:00Z') },
    logger: silentLogger,
  });
  expect(await handle()).toEqual({ againInMs: 3_600_000 });
  expect(calls).toEqual([
    ['create', 7],
    ['drop', '2026-11-14T10:00:00.000Z'],
    ['gateways', '2026-11-20T10:00:00.000Z'],
  ]);
});
