import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { sql } from 'kysely';
import { type Database, openDatabase, type Transaction } from './database.js';
import { createWithTransaction } from './transaction.js';

const deadlock = (): Error => Object.assign(new Error('deadlock detected'), { code: '40P01' });

describe('createWithTransaction', () => {
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

  const count = (name: string, tx: Transaction): Promise<unknown> =>
    sql`UPDATE counters SET value = value + 1 WHERE name = ${name}`.execute(tx);
  const values = async (): Promise<number[]> =>
    (await sql<{ value: number }>`SELECT value FROM counters ORDER BY name`.execute(database)).rows.map(
      ({ value }) => value,
    );

  it('includes the first statement, which is sent before the response to BEGIN', async () => {
    const withTransaction = createWithTransaction(database);
    const ids: number[] = [];
    const idOf = async (tx: Transaction) => {
      const { rows } = await sql<{ id: number }>`SELECT pg_current_xact_id()::text::bigint AS id`.execute(tx);
      ids.push(rows[0]?.id ?? 0);
    };
    await withTransaction(async (tx) => {
      await idOf(tx);
      await idOf(tx);
    });
    expect(new Set(ids).size).toBe(1);
    const failing = withTransaction(async (tx) => {
      await count('a', tx);
      await sql`SELECT 1 / 0`.execute(tx);
    });
    await expect(failing).rejects.toThrow('division by zero');
    expect(await values()).toEqual([0, 0]);
  });

  it('fails if a statement failed whose error was ignored: Postgres rolls back', async () => {
    const ignoring = createWithTransaction(database)(async (tx) => {
      await count('a', tx);
      await sql`SELECT 1 / 0`.execute(tx).catch(() => undefined);
    });
    await expect(ignoring).rejects.toThrow('the transaction was rolled back');
    expect(await values()).toEqual([0, 0]);
  });

  it('commits both of two transactions that deadlock, each once', async () => {
    const withTransaction = createWithTransaction(database);
    let runs = 0;
    // Both have locked their first row before either locks its second one.
    const { promise: bothBegan, resolve: begin } = Promise.withResolvers<void>();
    const { promise: oneDone, resolve: end } = Promise.withResolvers<void>();
    const crossing = (first: string, second: string): Promise<void> =>
      withTransaction(async (tx) => {
        runs += 1;
        // The retry waits for the other transaction, to avoid another deadlock.
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

  it('does not retry a transaction that fails for another reason', async () => {
    const withTransaction = createWithTransaction(database);
    let runs = 0;
    const failing = withTransaction(async (tx) => {
      runs += 1;
      await count('a', tx);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect({ runs, values: await values() }).toEqual({ runs: 1, values: [0, 0] });
  });

  it('throws the deadlock of the last attempt', async () => {
    const withTransaction = createWithTransaction(database);
    let runs = 0;
    const contended = withTransaction(async () => {
      runs += 1;
      throw deadlock();
    });
    await expect(contended).rejects.toThrow('deadlock detected');
    expect(runs).toBe(4);
  });

  describe('afterCommit', () => {
    it('runs an action only after the commit', async () => {
      const committed = Promise.withResolvers<number[]>();
      await createWithTransaction(database)(async (tx) => {
        tx.afterCommit(async () => committed.resolve(await values()));
        await count('a', tx);
      });
      expect(await committed.promise).toEqual([1, 0]);
    });

    it('runs no action of a transaction that is rolled back', async () => {
      const action = jest.fn<() => void>();
      const failing = createWithTransaction(database)(async (tx) => {
        tx.afterCommit(action);
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      expect(action).not.toHaveBeenCalled();
    });

    it('runs only the actions of the attempt that committed', async () => {
      const ran: number[] = [];
      let attempt = 0;
      await createWithTransaction(database)(async (tx) => {
        const current = (attempt += 1);
        tx.afterCommit(() => void ran.push(current));
        if (current < 3) throw deadlock();
      });
      expect(ran).toEqual([3]);
    });

    it('runs an action once per function, or per key if it has one', async () => {
      const ran: string[] = [];
      const signal = (): void => void ran.push('signal');
      await createWithTransaction(database)(async (tx) => {
        tx.afterCommit(signal);
        tx.afterCommit(signal);
        for (const key of ['a', 'a', 'b']) tx.afterCommit(() => void ran.push(key), key);
      });
      expect(ran).toEqual(['signal', 'a', 'b']);
    });

    it('logs the error of an action, runs the others and returns the result', async () => {
      const warn = jest.fn();
      const ran: string[] = [];
      const result = await createWithTransaction(database, { warn })(async (tx) => {
        tx.afterCommit(() => {
          throw new Error('thrown');
        });
        tx.afterCommit(() => Promise.reject(new Error('rejected')));
        tx.afterCommit(() => void ran.push('last'));
        return 'result';
      });
      await new Promise(setImmediate);
      expect({ result, ran }).toEqual({ result: 'result', ran: ['last'] });
      expect(warn.mock.calls.map(([fields]) => (fields as { err: Error }).err.message)).toEqual(['thrown', 'rejected']);
    });
  });
});
