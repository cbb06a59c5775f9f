import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createMetrics, silentLogger, systemClock } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { insertWorkspaces } from '../../test/bulk-data.js';
import { createStores, type Stores } from '../../test/stores.js';
import { createLeaseKeeper } from '../platform/jobs/lease-keeper.js';
import { createDuePoll } from '../platform/jobs/due-poll.js';
import { createJobWorker, type JobWorker } from '../platform/jobs/job-worker.js';
import type { PollLoop } from '../platform/jobs/poll-loop.js';
import { createRuntimePool } from './runtime-pool.js';
import { createRuntimeReconciler } from './runtime-reconciler.js';
import type { RuntimeDriver, RuntimeObservation } from './drivers/driver.js';
import { createRuntimeMetrics } from './runtime-metrics.js';
import { createRuntimeWatch, type RuntimeWatch } from './runtime-watch.js';
import { RUNTIME_JOB } from '../records/runtime-requests.js';
import { createJobSignals } from '../platform/jobs/job-signals.js';
import { getRuntime } from '../records/runtimes.store.js';
import * as runtimeRecords from '../records/runtimes.store.js';
import * as agentRecords from '../records/agents.store.js';

const SUSPENDED = 1_000;
const READY = 1_000;
const ADDRESS = 'http://runtime:1';
/** Enough resyncs to detect a write per runtime. */
const ROUNDS = 5;
const IDLE_MS = 900_000;

describe('the cost of settled runtimes', () => {
  let db: MigratedDatabase;
  const jobSignals = createJobSignals();
  let stores: Stores;
  let notReady: Set<string>;
  let report: (workspaceId: string) => void;
  let polls: number;
  let replicas: { queue: JobWorker; due: PollLoop; watch: RuntimeWatch }[];

  beforeAll(async () => {
    db = await createMigratedDatabase(20);
    stores = createStores(db.database, jobSignals);
    await insertWorkspaces(db.database, SUSPENDED + READY);
    await sql`DELETE FROM work`.execute(db.database);
    await sql`DELETE FROM runtimes`.execute(db.database);
    await sql`
      INSERT INTO runtimes (workspace_id, user_id, desired, phase)
      SELECT id, owner_id, CASE WHEN row_number() OVER (ORDER BY id) <= ${SUSPENDED} THEN 'suspended' ELSE 'running' END,
        'Pending'
      FROM workspaces`.execute(db.database);
    await sql`INSERT INTO work (kind, subject_id, workspace_id, serial_key)
      SELECT ${RUNTIME_JOB}, workspace_id, workspace_id, workspace_id FROM runtimes`.execute(db.database);
    await countWrites();
    notReady = new Set();
    polls = 0;
    const listeners: ((workspaceId: string) => void)[] = [];
    report = (workspaceId) => listeners.forEach((listener) => listener(workspaceId));
    replicas = [startReplica(listeners), startReplica(listeners)];
    await allSettled();
  });
  beforeEach(() => allSettled());
  afterAll(async () => {
    await Promise.all(replicas.flatMap(({ queue, due, watch }) => [queue.close(), due.close(), watch.close()]));
    await db.close();
  });

  /** Creates a sequence that every inserted, updated or deleted row advances, also in transactions that roll back. */
  async function countWrites(): Promise<void> {
    await sql`CREATE SEQUENCE row_writes`.execute(db.database);
    await sql`
      CREATE FUNCTION count_row_write() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM nextval('row_writes'); RETURN NULL; END $$`.execute(db.database);
    const { rows } = await sql<{ name: string }>`
      SELECT relname AS name FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`.execute(
      db.database,
    );
    for (const { name } of rows) {
      await sql`
        CREATE TRIGGER count_row_writes AFTER INSERT OR UPDATE OR DELETE ON ${sql.table(name)}
        FOR EACH ROW EXECUTE FUNCTION count_row_write()`.execute(db.database);
    }
  }
  async function writes(): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      SELECT CASE WHEN is_called THEN last_value ELSE 0 END::int AS count FROM row_writes`.execute(db.database);
    return rows[0]?.count ?? 0;
  }
  async function allSettled(): Promise<void> {
    const busy = async () => {
      const { rows } = await sql<{ count: number }>`
        SELECT count(*)::int AS count FROM work
        WHERE kind = ${RUNTIME_JOB} AND (lease_id IS NOT NULL OR run_at < now() + interval '1 minute')`.execute(
        db.database,
      );
      return rows[0]?.count;
    };
    expect(await eventually(busy, { until: (count) => count === 0, timeoutMs: 120_000 })).toBe(0);
  }

  function startReplica(listeners: ((workspaceId: string) => void)[]): (typeof replicas)[number] {
    const observe = (suspended: boolean, workspaceId: string): RuntimeObservation => {
      const noAddress = { reason: '', address: null, current: true };
      if (suspended) return { ...noAddress, phase: 'Suspended' };
      if (notReady.has(workspaceId)) return { ...noAddress, phase: 'Progressing', reason: 'Starting' };
      return { phase: 'Ready', reason: '', address: ADDRESS, current: true };
    };
    const driver: RuntimeDriver = {
      reportsLiveness: true,
      ensure: async ({ suspended, workspaceId }) => observe(suspended, workspaceId),
      peek: async (specs) =>
        new Map(specs.map(({ suspended, workspaceId }) => [workspaceId, observe(suspended, workspaceId)])),
      remove: async () => true,
      onChange: (listener) => void listeners.push(listener),
    };
    const client = {
      identify: async () => ({ instanceId: 'i', features: [] }),
      status: async () => ({ busy: true, turns: [], idleMs: 0 }),
      stopTurn: async () => undefined,
      forget: () => undefined,
    };
    const metrics = createRuntimeMetrics(createMetrics('test'));
    const pool = createRuntimePool({ places: 0, requestReconcile: () => undefined });
    const common = { driver, client, pool, metrics, clock: systemClock, logger: silentLogger };
    const queue = createJobWorker({
      kind: RUNTIME_JOB,
      store: stores.jobs,
      leases: createLeaseKeeper({ store: stores.jobs, logger: silentLogger }),
      logger: silentLogger,
      concurrency: 8,
      // A slow machine must not cause an expired lease.
      leaseMs: 120_000,
      handle: createRuntimeReconciler({
        ...stores,
        ...common,
        withTransaction: db.withTransaction,
        database: stores.database,
        store: runtimeRecords,
        agents: agentRecords,
        publish: async () => true,
        idleSuspendAfterMs: IDLE_MS,
      }),
    });
    jobSignals.subscribe(RUNTIME_JOB, queue.poll);
    const due = createDuePoll({
      store: { dueKinds: (kinds) => ((polls += 1), stores.jobs.dueKinds(kinds)) },
      workers: new Map([[RUNTIME_JOB, queue]]),
      pollMs: 50,
      logger: silentLogger,
    });
    const watch = createRuntimeWatch({
      ...common,
      database: stores.database,
      store: runtimeRecords,
      jobs: stores.jobs,
      resyncMs: 3_600_000,
    });
    return { queue, due, watch };
  }
  const resyncAll = () => Promise.all(replicas.map(({ watch }) => watch.resync()));
  const idsOf = async (phase: 'Ready' | 'Suspended') =>
    (await db.database.selectFrom('runtimes').select('workspace_id').where('phase', '=', phase).execute()).map(
      (row) => row.workspace_id,
    );
  const phaseOnceIn = (phase: 'Progressing' | 'Ready', workspaceId: string) =>
    eventually(async () => (await getRuntime(stores.database, workspaceId))?.phase, {
      until: (current) => current === phase,
      timeoutMs: 30_000,
    });

  it('does not include any row write for 1,000 suspended and 1,000 Ready runtimes while nothing changes', async () => {
    expect(await idsOf('Suspended')).toHaveLength(SUSPENDED);
    expect(await idsOf('Ready')).toHaveLength(READY);
    const [before, earlier] = [await writes(), polls];
    for (let round = 0; round < ROUNDS; round += 1) await resyncAll();
    // Jobs were polled for during that time.
    await eventually(() => polls, { until: (count) => count >= earlier + 20, timeoutMs: 60_000 });
    expect(await writes()).toBe(before);
  });

  it('is two row writes per idle limit for a Ready runtime', async () => {
    const before = await writes();
    await sql`UPDATE work SET run_at = now() WHERE kind = ${RUNTIME_JOB}`.execute(db.database);
    await allSettled();
    // One write is the statement under test; the other two claim and release the job.
    expect((await writes()) - before).toBe(3 * (SUSPENDED + READY));
    const { rows } = await sql<{ soonest: number }>`
      SELECT extract(epoch FROM min(run_at) - now())::int AS soonest FROM work WHERE kind = ${RUNTIME_JOB}`.execute(
      db.database,
    );
    expect(rows[0]?.soonest).toBeGreaterThan((IDLE_MS * 2) / 3_000);
  });

  it('is limited to the rows of the workspace for a reported change', async () => {
    const [id = ''] = await idsOf('Ready');
    const before = await writes();
    notReady.add(id);
    report(id);
    expect(await phaseOnceIn('Progressing', id)).toBe('Progressing');
    notReady.delete(id);
    report(id);
    expect(await phaseOnceIn('Ready', id)).toBe('Ready');
    await allSettled();
    // Includes the workspace's jobs, events and sequences, but no row of the 1,999 other workspaces.
    expect((await writes()) - before).toBeLessThan(100);
  });

  it('does not prevent a resync from finding an unreported change', async () => {
    const [id = ''] = await idsOf('Ready');
    notReady.add(id);
    await resyncAll();
    expect(await phaseOnceIn('Progressing', id)).toBe('Progressing');
    notReady.delete(id);
    report(id);
    expect(await phaseOnceIn('Ready', id)).toBe('Ready');
  });

  it('does not prevent a resync from restoring the missing job of a runtime that differs', async () => {
    const [id = ''] = await idsOf('Ready');
    await db.database.deleteFrom('work').where('subject_id', '=', id).execute();
    notReady.add(id);
    await resyncAll();
    expect(await phaseOnceIn('Progressing', id)).toBe('Progressing');
    notReady.delete(id);
    report(id);
  });
});
