import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { sql } from 'kysely';
import { runner } from 'node-pg-migrate';
import { insertMessages, insertWorkspaces } from '../../../test/bulk-data.js';
import { createStores } from '../../../test/stores.js';
import { first } from '../../../test/test-orchestrator.js';
import { type Database, openDatabase } from '../../platform/database/database.js';
import { migrate } from '../../platform/database/migrate.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { findDueEvents, advanceOutbox } from './outbox.store.js';

const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url));
const ALL_SHARDS = Array.from({ length: 64 }, (_, shard) => shard);

const append02 = (workspaceId: string) => sql<{ seq: number }>`
  WITH counter AS (
    UPDATE workspaces SET last_seq = last_seq + 1 WHERE id = ${workspaceId} RETURNING last_seq
  )
  INSERT INTO workspace_events (workspace_id, seq, type, subject_id)
  SELECT ${workspaceId}, last_seq, 'workspace.updated', ${workspaceId} FROM counter
  RETURNING seq`;
const unpublished02 = sql<{ seq: number }>`
  SELECT seq FROM workspace_events WHERE published_at IS NULL ORDER BY workspace_id, seq LIMIT 500`;
const markPublished02 = (seqs: readonly number[]) => sql`
  UPDATE workspace_events e SET published_at = now() WHERE e.seq = ANY(${[...seqs]}::bigint[])`;
const prune02 = sql`
  WITH old AS (
    SELECT workspace_id, seq FROM workspace_events
    WHERE created_at < now() AND published_at IS NOT NULL
    ORDER BY created_at LIMIT 5000 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM workspace_events e USING old WHERE e.workspace_id = old.workspace_id AND e.seq = old.seq`;

describe('during the roll-out from release 0.2', () => {
  let test: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    test = await createTestDatabase();
    database = openDatabase({ url: test.url, maxConnections: 4 });
  });
  afterEach(async () => {
    await database.destroy();
    await test.drop();
  });

  const waiting = async () => {
    await sql`UPDATE event_outbox SET due_at = now()`.execute(database);
    const due = await findDueEvents(database, ALL_SHARDS, { workspaces: 100, events: 100 });
    return due.map(({ events }) => events.map(({ seq }) => seq));
  };

  it('the migration keeps the log, and adds its unpublished events to the outbox', async () => {
    await runner({
      databaseUrl: test.url,
      dir: `${MIGRATIONS}/*.sql`,
      useGlob: true,
      direction: 'up',
      migrationsTable: 'schema_migrations',
      count: readdirSync(MIGRATIONS).filter((name) => name < '0042').length,
      log: () => undefined,
    });
    await insertWorkspaces(database, 2);
    await insertMessages(database, 5);
    const before =
      await sql`SELECT workspace_id, seq, type, subject_id, created_at FROM workspace_events ORDER BY 1, 2`.execute(
        database,
      );
    await markPublished02([1, 2]).execute(database);
    await migrate(test.url, silentLogger);
    const after =
      await sql`SELECT workspace_id, seq, type, subject_id, created_at FROM workspace_events ORDER BY 1, 2`.execute(
        database,
      );
    expect(after.rows).toEqual(before.rows);
    expect(await waiting()).toEqual([
      [3, 4, 5],
      [3, 4, 5],
    ]);
    const { rows } = await sql<{ id: string }>`SELECT id FROM gateways`.execute(database);
    expect(rows).toEqual([{ id: 'release-0.2' }]);
  });

  it('events of both releases are published, and the relay of release 0.2 publishes its own', async () => {
    await migrate(test.url, silentLogger);
    const workspaceId = first(await insertWorkspaces(database, 1));
    const { events } = createStores(database);
    const append = () =>
      createWithTransaction(database)((tx) =>
        events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx),
      );
    const stored = [await append(), first((await append02(workspaceId).execute(database)).rows).seq, await append()];
    expect(stored).toEqual([1, 2, 3]);
    const { rows } = await unpublished02.execute(database);
    expect(rows).toEqual([{ seq: 2 }]);
    await markPublished02([2]).execute(database);
    expect(await waiting()).toEqual([[1, 2, 3]]);
    await prune02.execute(database);
    expect(await append()).toBe(4);
  });

  it('concurrent transactions of both releases and relays do not deadlock', async () => {
    await migrate(test.url, silentLogger);
    const ids = await insertWorkspaces(database, 3);
    const { events } = createStores(database);
    const withTransaction = createWithTransaction(database);
    const write = async (n: number) => {
      for (const workspaceId of n % 2 === 0 ? ids : ids.toReversed()) {
        await withTransaction((tx) =>
          events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx),
        );
        await append02(workspaceId).execute(database);
      }
    };
    let writing = true;
    const relay = async () => {
      while (writing) {
        const due = await findDueEvents(database, ALL_SHARDS, { workspaces: 10, events: 2 });
        await advanceOutbox(
          database,
          due.map(({ workspaceId, events: [one] }) => ({
            workspaceId,
            fromSeq: 0,
            uptoSeq: one?.seq ?? 0,
            at: new Date(),
          })),
        );
      }
    };
    const relays = Promise.all([relay(), relay()]);
    await Promise.all(Array.from({ length: 20 }, (_, n) => write(n))).finally(() => {
      writing = false;
    });
    await relays;
    const { rows } = await sql<{ last: number }>`SELECT last_seq AS last FROM workspaces`.execute(database);
    expect(rows.map(({ last }) => last)).toEqual([40, 40, 40]);
    const { rows: deadlocks } = await sql<{ deadlocks: number }>`
      SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`.execute(database);
    expect(first(deadlocks).deadlocks).toBe(0);
  });
});
