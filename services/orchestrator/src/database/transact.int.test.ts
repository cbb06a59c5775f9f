import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { sql } from 'kysely';
import { type Database, openDatabase } from './database.js';
import { createTransact } from './transact.js';

describe('transactions', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = openDatabase({ url: testDatabase.url });
    await sql`CREATE TABLE counters (name text PRIMARY KEY, value int NOT NULL)`.execute(database);
    await sql`INSERT INTO counters VALUES ('a', 0), ('b', 0)`.execute(database);
  });
  afterEach(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  const count = (name: string, tx: Database): Promise<unknown> =>
    sql`UPDATE counters SET value = value + 1 WHERE name = ${name}`.execute(tx);
  const values = async (): Promise<number[]> =>
    (await sql<{ value: number }>`SELECT value FROM counters ORDER BY name`.execute(database)).rows.map(
      ({ value }) => value,
    );

  it('that lock each other out both happen, once', async () => {
    const transaction = createTransact(database);
    let runs = 0;
    // Each has its first row before either asks for its second.
    const { promise: bothBegan, resolve: begin } = Promise.withResolvers<void>();
    const { promise: oneDone, resolve: end } = Promise.withResolvers<void>();
    const crossing = (first: string, second: string): Promise<void> =>
      transaction(async (tx) => {
        runs += 1;
        // Who gave way and came back too early would give way again.
        if (runs === 3) await oneDone;
        await count(first, tx);
        if (runs >= 2) begin();
        await bothBegan;
        await count(second, tx);
      }).then(end);
    await Promise.all([crossing('a', 'b'), crossing('b', 'a')]);
    expect(await values()).toEqual([2, 2]);
    expect(runs).toBe(3);
  });

  it('that fail for another reason are not run again', async () => {
    const transaction = createTransact(database);
    let runs = 0;
    const failing = transaction(async (tx) => {
      runs += 1;
      await count('a', tx);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect([runs, ...(await values())]).toEqual([1, 0, 0]);
  });

  it('that are in the way of others each time say so in the end', async () => {
    const transaction = createTransact(database);
    let runs = 0;
    const contended = transaction(async () => {
      runs += 1;
      throw Object.assign(new Error('deadlock detected'), { code: '40P01' });
    });
    await expect(contended).rejects.toThrow('deadlock detected');
    expect(runs).toBe(4);
  });
});
