import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createTestDatabase, SERVING_ROLE, type TestDatabase } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../platform/database/database.js';
import { migrate } from '../platform/database/migrate.js';
import { startTestOrchestrator } from '../../test/test-orchestrator.js';
import { createEventLog, type EventLog } from '../records/event-log.js';

const DAY_MS = 86_400_000;
const dayOf = (offset: number): string => new Date(Date.now() + offset * DAY_MS).toISOString().slice(0, 10);
const nameOf = (offset: number): string => `workspace_events_${dayOf(offset).replaceAll('-', '')}`;

async function partitions(database: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`SELECT name FROM event_partitions ORDER BY until`.execute(database);
  return rows.map(({ name }) => name);
}

/** The first partition contains all days until the migration. Replaces it by partitions for the last nine days. */
async function startNineDaysAgo(database: Database): Promise<void> {
  await sql`DROP TABLE workspace_events_before`.execute(database);
  for (let offset = -9; offset <= 0; offset += 1) {
    const [from, until] = [dayOf(offset), dayOf(offset + 1)];
    // Today's exists if a day has begun since the migration.
    await sql
      .raw(
        `CREATE TABLE IF NOT EXISTS ${nameOf(offset)} PARTITION OF workspace_events FOR VALUES FROM ('${from}') TO ('${until}')`,
      )
      .execute(database);
  }
}

const WORKSPACE = '01931a5e-7c00-7000-8000-000000000001';
const insert = (database: Database, seq: number, offset: number) =>
  sql`
  INSERT INTO workspace_events (workspace_id, seq, type, subject_id, day, created_at, published_at)
  VALUES (${WORKSPACE}, ${seq}, 'workspace.updated', ${WORKSPACE}, ${dayOf(offset)}::date, ${dayOf(offset)}::date, now())`.execute(
    database,
  );
async function seqs(database: Database): Promise<number[]> {
  const rows = await database.selectFrom('workspace_events').select('seq').orderBy('seq').execute();
  return rows.map(({ seq }) => seq);
}

describe('the partitions of the event log', () => {
  let test: TestDatabase;
  let owner: Database;
  let serving: Database;
  let store: EventLog;
  beforeEach(async () => {
    test = await createTestDatabase();
    await migrate(test.url, silentLogger, SERVING_ROLE);
    owner = openDatabase({ url: test.url, maxConnections: 2 });
    serving = openDatabase({ url: test.servingUrl, maxConnections: 4 });
    store = createEventLog(serving);
  });
  afterEach(async () => {
    await Promise.all([owner.destroy(), serving.destroy()]);
    await test.drop();
  });

  it('exist for a week after the migration, and the serving role creates more, also concurrently', async () => {
    const names = (days: number) => Array.from({ length: days }, (_, index) => nameOf(index + 1));
    expect(await partitions(owner)).toEqual(['workspace_events_before', ...names(7)]);
    await Promise.all([9, 10, 10].map((days) => store.createPartitions(days)));
    expect(await partitions(owner)).toEqual(['workspace_events_before', ...names(10)]);
  });

  it('take the events that were stored before they existed', async () => {
    await insert(owner, 1, 9);
    await insert(owner, 2, 10);
    await store.createPartitions(9);
    const { rows } = await sql<{ seq: number; partition: string }>`
      SELECT seq, tableoid::regclass::text AS partition FROM workspace_events ORDER BY seq`.execute(owner);
    expect(rows).toEqual([
      { seq: 1, partition: nameOf(9) },
      { seq: 2, partition: 'workspace_events_default' },
    ]);
  });

  it('are dropped by the serving role after the retention time', async () => {
    await startNineDaysAgo(owner);
    for (const offset of [-9, -8, -7, -6, 0]) await insert(owner, 10 + offset, offset);
    expect(await store.dropPartitions(new Date(Date.now() - 7 * DAY_MS))).toBe(2);
    expect(await seqs(serving)).toEqual([3, 4, 10]);
    expect((await partitions(owner))[0]).toBe(nameOf(-7));
  });

  it('are kept while they contain unpublished events', async () => {
    await startNineDaysAgo(owner);
    await insert(owner, 1, -9);
    await insert(owner, 2, -8);
    await sql`
      INSERT INTO event_outbox (workspace_id, from_seq, upto_seq, since) VALUES (${WORKSPACE}, 2, 2, ${dayOf(-8)}::date)`.execute(
      owner,
    );
    expect(await store.dropPartitions(new Date())).toBe(0);
    await sql`TRUNCATE event_outbox`.execute(owner);
    expect(await store.dropPartitions(new Date())).toBe(9);
  });

  it('are not locked for long: the drop fails if a transaction reads the log, and succeeds later', async () => {
    await startNineDaysAgo(owner);
    await owner.transaction().execute(async (tx) => {
      await tx.selectFrom('workspace_events').select('seq').execute();
      await expect(store.dropPartitions(new Date())).rejects.toThrow('lock timeout');
    });
    expect(await store.dropPartitions(new Date())).toBe(9);
  });
});

it('the job of an orchestrator drops old partitions of the log and is due again', async () => {
  const uswarm = await startTestOrchestrator({ environment: { UPKEEP_WORKERS: '1' } });
  try {
    const job = () =>
      uswarm.database.selectFrom('work').selectAll().where('kind', '=', 'event-pruning').executeTakeFirstOrThrow();
    // After its first run, at the start: it would drop the old partitions before they have events.
    await eventually(job, { until: ({ lease_id, run_at }) => lease_id === null && run_at.getTime() > Date.now() });
    await startNineDaysAgo(uswarm.database);
    for (const offset of [-9, -6]) await insert(uswarm.database, 10 + offset, offset);
    await uswarm.database
      .updateTable('work')
      .set({ run_at: new Date(0), attempts: 0 })
      .where('kind', '=', 'event-pruning')
      .execute();
    const due = async () => (await job()).run_at.getTime();
    expect(await eventually(due, { until: (at) => at > Date.now() + 3_000_000 })).toBeGreaterThan(Date.now());
    expect(await seqs(uswarm.database)).toEqual([4]);
  } finally {
    await uswarm.close();
  }
});
