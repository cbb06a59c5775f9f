import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { sql } from 'kysely';
import { type Database, openDatabase, type Transaction, type WithTransaction } from './database.js';
import { allInOrder, pipelined } from './pipelined.js';
import { createWithTransaction } from './transaction.js';

describe('pipelined statements', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let withTransaction: WithTransaction;
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    database = openDatabase({ url: testDatabase.url });
    withTransaction = createWithTransaction(database);
    await sql`CREATE TABLE notes (id serial PRIMARY KEY, text text UNIQUE)`.execute(database);
  });
  afterAll(async () => {
    await database.destroy();
    await testDatabase.drop();
  });
  beforeEach(() => sql`TRUNCATE notes`.execute(database));

  const add = async (text: string, tx: Transaction) =>
    void (await sql`INSERT INTO notes (text) VALUES (${text})`.execute(tx));
  const texts = async (db: Database): Promise<string[]> => {
    const { rows } = await sql<{ text: string }>`SELECT text FROM notes ORDER BY id`.execute(db);
    return rows.map(({ text }) => text);
  };

  it('are executed in the order of the list, each with the rows of the ones before', async () => {
    const seen = await withTransaction(async (tx) => {
      const [, first, , second] = await pipelined(tx, (sender) => [
        add('a', sender),
        texts(sender),
        add('b', sender),
        texts(sender),
      ]);
      return { first, second, after: await texts(tx) };
    });
    expect(seen).toEqual({ first: ['a'], second: ['a', 'b'], after: ['a', 'b'] });
    expect(await texts(database)).toEqual(['a', 'b']);
  });

  it('reject with the error of the first that fails, when all have settled, and are rolled back', async () => {
    let settled = 0;
    const counted = (work: Promise<unknown>) => work.finally(() => (settled += 1));
    const failing = withTransaction((tx) =>
      pipelined(tx, (sender) => [
        counted(add('a', sender)),
        counted(add('a', sender)),
        counted(add('b', sender)),
        counted(sql`SELECT 1 / 0`.execute(sender)),
      ]),
    );
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    expect(settled).toBe(4);
    expect(await texts(database)).toEqual([]);
  });

  it('register actions that run after the commit', async () => {
    const actions: string[] = [];
    await withTransaction((tx) =>
      pipelined(tx, (sender) => {
        sender.afterCommit(() => void actions.push('ran'));
        return [add('a', sender)];
      }),
    );
    expect(actions).toEqual(['ran']);
  });

  it('are separate transactions on one connection without a transaction', async () => {
    const backend = async (db: Database): Promise<number | undefined> => {
      const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(db);
      return rows[0]?.pid;
    };
    const failing = pipelined(database, (sender) => [
      sql`INSERT INTO notes (text) VALUES (${'a'})`.execute(sender),
      sql`INSERT INTO notes (text) VALUES (${'a'})`.execute(sender),
      sql`INSERT INTO notes (text) VALUES (${'b'})`.execute(sender),
    ]);
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    expect(await texts(database)).toEqual(['a', 'b']);
    const backends = await pipelined(database, (sender) => [backend(sender), backend(sender), backend(sender)]);
    expect(new Set(backends).size).toBe(1);
  });

  it('cannot be built with the query builder, which does not send them together', async () => {
    const building = withTransaction((tx) =>
      pipelined(tx, (sender) => [(async () => sender.selectFrom('users').selectAll().execute())()]),
    );
    await expect(building).rejects.toMatchObject({ name: 'TypeError' });
  });
});

describe('allInOrder', () => {
  it('throws the first error of the list, even if a later promise rejects earlier', async () => {
    const late = Promise.withResolvers<never>();
    const all = allInOrder([late.promise, Promise.reject(new Error('second'))]);
    await Promise.resolve();
    late.reject(new Error('first'));
    await expect(all).rejects.toThrow('first');
  });
});
