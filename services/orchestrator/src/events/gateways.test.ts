import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createGateways } from './gateways.js';
import { NO_TRANSACTION } from '../../test/transaction.js';

function setUp(oldest: number | null = null) {
  const records: [string, number][] = [];
  const state = { now: 0, oldest, failing: false };
  const gateways = createGateways({
    database: NO_TRANSACTION,
    store: {
      recordGateway: async (_db, id, version) => {
        if (state.failing) throw new Error('the database is unavailable');
        records.push([id, version]);
      },
      findOldestGatewayVersion: async () => state.oldest,
    },
    logger: silentLogger,
    now: () => state.now,
  });
  return { gateways, records, state };
}

describe('the gateways', () => {
  it.each([
    ['without gateways', null, 2],
    ['with gateways of this release', 2, 2],
    ['with gateways of later releases only', 7, 2],
  ])('determine the version to publish %s', async (_case, oldest, version) => {
    const { gateways } = setUp(oldest);
    await gateways.refresh();
    expect(gateways.version()).toBe(version);
  });

  it('are recorded at most every 10 seconds each', () => {
    const { gateways, records, state } = setUp();
    for (const now of [0, 5_000, 9_999, 10_000]) {
      state.now = now;
      for (const id of ['a', 'b']) gateways.announced({ id, busVersion: '2' });
    }
    expect(records).toEqual([
      ['a', 2],
      ['b', 2],
      ['a', 2],
      ['b', 2],
    ]);
  });

  it('are recorded again after a failure', async () => {
    const { gateways, records, state } = setUp();
    state.failing = true;
    gateways.announced({ id: 'a', busVersion: '2' });
    await new Promise((resolve) => setImmediate(resolve));
    state.failing = false;
    gateways.announced({ id: 'a', busVersion: '2' });
    expect(records).toEqual([['a', 2]]);
  });

  it.each([
    ['no headers', { id: undefined, busVersion: undefined }],
    ['no id', { id: undefined, busVersion: '2' }],
    ['an invalid id', { id: 'a b', busVersion: '2' }],
    ['no version', { id: 'a', busVersion: undefined }],
    ['an invalid version', { id: 'a', busVersion: 'two' }],
  ])('are not recorded with %s', (_case, announcement) => {
    const { gateways, records } = setUp();
    gateways.announced(announcement);
    expect({ records, version: gateways.version() }).toEqual({ records: [], version: 2 });
  });
});
