import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { createBoundedRead, ReadTimeout } from './bounded-read.js';
import type { Database } from './database.js';

/** Longer than any test. */
const FOREVER_MS = 3_600_000;

describe('createBoundedRead', () => {
  let db: MigratedDatabase;
  beforeAll(async () => {
    db = await createMigratedDatabase();
  });
  afterAll(() => db.close());

  const never = new AbortController().signal;
  const sleepForever = (tx: Database) => sql`SELECT pg_sleep(3600)`.execute(tx);
  const sleeping = async (): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND state <> 'idle' AND query LIKE 'SELECT pg_sleep%'`.execute(db.database);
    return rows[0]?.count ?? 0;
  };

  it('returns the rows that the statements read', async () => {
    const read = createBoundedRead(db.database);
    const result = await read({ timeoutMs: FOREVER_MS, signal: never }, (tx) => sql`SELECT 1 AS one`.execute(tx));
    expect(result.rows).toEqual([{ one: 1 }]);
  });

  it('cancels a statement in Postgres when its signal is aborted', async () => {
    const client = new AbortController();
    const reason = new Error('the client closed the connection');
    const running = createBoundedRead(db.database)({ timeoutMs: FOREVER_MS, signal: client.signal }, sleepForever);
    const failure = running.catch((error: unknown) => error);
    expect(await eventually(sleeping, { until: (count) => count === 1 })).toBe(1);
    client.abort(reason);
    expect(await failure).toBe(reason);
    expect(await sleeping()).toBe(0);
  });

  it('throws ReadTimeout when one statement takes too long', async () => {
    const running = createBoundedRead(db.database)({ timeoutMs: 200, signal: never }, sleepForever);
    await expect(running).rejects.toThrow(ReadTimeout);
    expect(await sleeping()).toBe(0);
  });

  it('throws ReadTimeout when many short statements together take too long', async () => {
    const running = createBoundedRead(db.database)({ timeoutMs: 200, signal: never }, async (tx) => {
      for (;;) await sql`SELECT pg_sleep(0.01)`.execute(tx);
    });
    await expect(running).rejects.toThrow(ReadTimeout);
  });

  it('restores the settings of the connection, which later accepts writes', async () => {
    const settings = async () =>
      (
        await sql`SELECT current_setting('statement_timeout') AS t, current_setting('transaction_read_only') AS r`.execute(
          db.database,
        )
      ).rows;
    const before = await settings();
    const read = createBoundedRead(db.database);
    await expect(read({ timeoutMs: 100, signal: never }, sleepForever)).rejects.toThrow(ReadTimeout);
    await read({ timeoutMs: FOREVER_MS, signal: never }, (tx) => sql`SELECT 1`.execute(tx));
    expect(await settings()).toEqual(before);
  });
});
