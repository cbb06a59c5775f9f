import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from '@uswarm/service-kit';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { type Database, openDatabase } from './database.js';
import { FORCE_CUSTOM_PLAN } from './prepared.js';

describe('openDatabase', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let other: Database;
  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = openDatabase({ url: testDatabase.url, maxConnections: 1 });
    other = openDatabase({ url: testDatabase.url, maxConnections: 1 });
  });
  afterEach(async () => {
    await Promise.all([database.destroy(), other.destroy()]);
    await testDatabase.drop();
  });

  const pidOf = async (db: Database) =>
    (await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(db)).rows[0]?.pid;
  const alive = async (pid: number | undefined) =>
    (await sql`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid}`.execute(other)).rows.length > 0;
  /** Terminates the connection on the server and waits for its end. */
  const kill = async (pid: number | undefined) => {
    await sql`SELECT pg_terminate_backend(${pid})`.execute(other);
    await eventually(() => alive(pid), { until: (is) => !is });
  };

  it('fails a transaction whose connection breaks between two statements, without ending the process', async () => {
    const transaction = database.transaction().execute(async (tx) => {
      await kill(await pidOf(tx));
      await sql`SELECT 1`.execute(tx);
    });
    await expect(transaction).rejects.toThrow();
    expect(await pidOf(database)).toBeGreaterThan(0);
  });

  it('counts connections and the statements that wait for one', async () => {
    const registry = new Registry();
    const measured = openDatabase({ url: testDatabase.url, maxConnections: 2, metrics: registry });
    const used = (): Promise<string[]> =>
      registry.metrics().then((text) => text.split('\n').filter((line) => line.startsWith('uswarm')));
    const release = Promise.withResolvers<void>();
    const held = [1, 2].map(() => measured.transaction().execute(() => release.promise));
    const waiting = pidOf(measured);
    const full = await eventually(used, {
      until: (lines) => lines.includes('uswarm_database_pool_pending{pool="requests"} 1'),
    });
    expect(full).toEqual([
      'uswarm_database_connections{pool="requests",state="idle"} 0',
      'uswarm_database_connections{pool="requests",state="in_use"} 2',
      'uswarm_database_connections_limit{pool="requests"} 2',
      'uswarm_database_pool_pending{pool="requests"} 1',
    ]);
    release.resolve();
    await Promise.all([...held, waiting]);
    expect(await used()).toEqual(
      expect.arrayContaining([
        'uswarm_database_connections{pool="requests",state="in_use"} 0',
        'uswarm_database_pool_pending{pool="requests"} 0',
      ]),
    );
    await measured.destroy();
  });

  it('replaces an idle connection that breaks', async () => {
    const before = await pidOf(database);
    await kill(before);
    // The pool may notice the end with a delay.
    const after = await eventually(() => pidOf(database).catch(() => before), { until: (pid) => pid !== before });
    expect(after).not.toBe(before);
  });

  it('closes a connection that does not respond and fails its statement, also in a transaction', async () => {
    const proxy = await startFaultInjectionProxy(testDatabase.url);
    const withTimeout = openDatabase({
      url: proxy.redirect(testDatabase.url),
      maxConnections: 1,
      answerDeadlineMs: 3_000,
    });
    const before = await pidOf(withTimeout);
    proxy.freeze();
    await expect(pidOf(withTimeout)).rejects.toThrow('Query read timeout');
    proxy.thaw();
    const after = await pidOf(withTimeout);
    expect(after).not.toBe(before);
    const transaction = withTimeout.transaction().execute(async (tx) => {
      await pidOf(tx);
      proxy.freeze();
      await pidOf(tx);
    });
    // The rollback fails on the closed connection.
    await expect(transaction).rejects.toThrow('Client was closed');
    proxy.thaw();
    expect(await pidOf(withTimeout)).not.toBe(after);
    await withTimeout.destroy();
    await proxy.close();
  });

  it('reads bigint as a number', async () => {
    expect((await sql<{ n: number }>`SELECT 9007199254740991::bigint AS n`.execute(database)).rows).toEqual([
      { n: 9_007_199_254_740_991 },
    ]);
  });

  it('sets a statement timeout of 10 s', async () => {
    expect((await sql`SHOW statement_timeout`.execute(database)).rows).toEqual([{ statement_timeout: '10s' }]);
  });

  describe('prepared statements', () => {
    const preparedBy = async (db: Database) => {
      const { rows } = await sql<{ statement: string }>`SELECT statement FROM pg_prepared_statements`.execute(db);
      return rows.map(({ statement }) => statement.trim());
    };

    it('prepares a statement with values once per connection', async () => {
      for (const n of [1, 2]) await sql`SELECT ${n}::int AS n`.execute(database);
      await sql`SELECT 1`.execute(database);
      expect(await preparedBy(database)).toEqual(['SELECT $1::int AS n']);
    });

    it('prepares no statement with `prepare: false`, for poolers without support', async () => {
      const plain = openDatabase({ url: testDatabase.url, maxConnections: 1, prepare: false });
      await sql`SELECT ${1}::int AS n`.execute(plain);
      expect(await preparedBy(plain)).toEqual([]);
      await plain.destroy();
    });

    it('does not prepare a statement with FORCE_CUSTOM_PLAN', async () => {
      await sql`${FORCE_CUSTOM_PLAN} SELECT ${1}::int AS n`.execute(database);
      expect(await preparedBy(database)).toEqual([]);
    });

    it.each([
      ['*', sql`SELECT * FROM things WHERE id = ${1}`],
      ['a table and *', sql`SELECT t.* FROM things t WHERE id = ${1}`],
      ['RETURNING *', sql`UPDATE things SET id = id WHERE id = ${1} RETURNING *`],
    ])('executes a statement with %s after a migration added a column', async (_what, statement) => {
      await sql`CREATE TABLE things (id int)`.execute(database);
      await sql`INSERT INTO things VALUES (1)`.execute(database);
      expect((await statement.execute(database)).rows).toEqual([{ id: 1 }]);
      await sql`ALTER TABLE things ADD COLUMN name text`.execute(other);
      expect((await statement.execute(database)).rows).toEqual([{ id: 1, name: null }]);
    });

    it('prepares statements with a multiplication or count(*)', async () => {
      await sql`SELECT count(*), ${2}::int * 3 AS n`.execute(database);
      expect(await preparedBy(database)).toHaveLength(1);
    });
  });
});
