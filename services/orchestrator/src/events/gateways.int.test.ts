import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { findOldestGatewayVersion, recordGateway, pruneGateways } from './gateways.store.js';

describe('the store of gateways', () => {
  let db: MigratedDatabase;
  beforeAll(async () => {
    db = await createMigratedDatabase();
  });
  beforeEach(() => db.database.deleteFrom('gateways').execute());
  afterAll(() => db.close());

  const age = (id: string, minutes: number) =>
    sql`UPDATE gateways SET seen_at = now() - ${minutes} * interval '1 minute' WHERE id = ${id}`.execute(db.database);

  it('returns the lowest version of the running gateways', async () => {
    expect(await findOldestGatewayVersion(db.database)).toBeNull();
    await recordGateway(db.database, 'new', 2);
    expect(await findOldestGatewayVersion(db.database)).toBe(2);
    await recordGateway(db.database, 'old', 1);
    await recordGateway(db.database, 'old', 1);
    expect(await findOldestGatewayVersion(db.database)).toBe(1);
  });

  it('ignores gateways that have not called for 3 minutes', async () => {
    await recordGateway(db.database, 'new', 2);
    await recordGateway(db.database, 'old', 1);
    await age('old', 4);
    expect(await findOldestGatewayVersion(db.database)).toBe(2);
    await recordGateway(db.database, 'old', 1);
    expect(await findOldestGatewayVersion(db.database)).toBe(1);
  });

  it('deletes gateways that have not called since a time', async () => {
    await recordGateway(db.database, 'a', 2);
    await recordGateway(db.database, 'b', 2);
    await age('a', 60);
    await pruneGateways(db.database, new Date(Date.now() - 1_800_000));
    expect(await db.database.selectFrom('gateways').select('id').execute()).toEqual([{ id: 'b' }]);
  });
});
