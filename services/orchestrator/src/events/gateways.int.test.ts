import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { createGatewayStore, type GatewayStore } from './gateways.store.js';

describe('the store of gateways', () => {
  let db: MigratedDatabase;
  let store: GatewayStore;
  beforeAll(async () => {
    db = await createMigratedDatabase();
    store = createGatewayStore(db.database);
  });
  beforeEach(() => db.database.deleteFrom('gateways').execute());
  afterAll(() => db.close());

  const age = (id: string, minutes: number) =>
    sql`UPDATE gateways SET seen_at = now() - ${minutes} * interval '1 minute' WHERE id = ${id}`.execute(db.database);

  it('returns the lowest version of the running gateways', async () => {
    expect(await store.oldestVersion()).toBeNull();
    await store.record('new', 2);
    expect(await store.oldestVersion()).toBe(2);
    await store.record('release-0.2', 1);
    await store.record('release-0.2', 1);
    expect(await store.oldestVersion()).toBe(1);
  });

  it('ignores gateways that have not called for 3 minutes, and release 0.2 after 10 minutes', async () => {
    await store.record('new', 2);
    await store.record('old', 1);
    await store.record('release-0.2', 1);
    await age('old', 4);
    await age('release-0.2', 9);
    expect(await store.oldestVersion()).toBe(1);
    await age('release-0.2', 11);
    expect(await store.oldestVersion()).toBe(2);
    await store.record('old', 1);
    expect(await store.oldestVersion()).toBe(1);
  });

  it('deletes gateways that have not called since a time', async () => {
    await store.record('a', 2);
    await store.record('b', 2);
    await age('a', 60);
    await store.prune(new Date(Date.now() - 1_800_000));
    expect(await db.database.selectFrom('gateways').select('id').execute()).toEqual([{ id: 'b' }]);
  });
});
