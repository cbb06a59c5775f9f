import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { InternalPhase, RuntimeDesired } from '../platform/database/schema.js';
import { TURN_JOB } from './turn-job.js';

export interface RuntimeRow {
  workspace_id: string;
  user_id: string;
  desired: RuntimeDesired;
  phase: InternalPhase;
  reason: string;
  verified: boolean;
  address: string | null;
  instance_id: string | null;
  identified_at: Date | null;
  /** Set while the runtime does not respond although the platform finds it ready. */
  silent_since: Date | null;
  /** Until then the runtime is identified as often as in release 0.2. */
  polled_until: Date | null;
  failures: number;
  /** Set when running is requested, and when the operator resumes the runtime. */
  wanted_at: Date;
  updated_at: Date;
}

export type RuntimeUpdate = Partial<
  Pick<
    RuntimeRow,
    | 'desired'
    | 'phase'
    | 'reason'
    | 'verified'
    | 'address'
    | 'instance_id'
    | 'identified_at'
    | 'silent_since'
    | 'failures'
    | 'wanted_at'
  >
>;

/** `turnWaits`: a turn waits although the runtime is not Ready, or is to be suspended. */
export type ListedRuntime = RuntimeRow & { turnWaits: boolean };

/** A lateral join: with EXISTS, the planner reads the whole table `work`. */
const LISTED = sql`
  SELECT r.*, waiting.turn IS NOT NULL AS "turnWaits"
  FROM runtimes r
  LEFT JOIN LATERAL (
    SELECT w.subject_id AS turn FROM work w WHERE w.workspace_id = r.workspace_id AND w.kind = ${TURN_JOB} LIMIT 1
  ) waiting ON r.desired = 'suspended' OR r.phase <> 'Ready'`;

const one = (db: Database, workspaceId: string) => db.updateTable('runtimes').where('workspace_id', '=', workspaceId);

export async function insertRuntime(db: Database, workspaceId: string, userId: string): Promise<void> {
  await db.insertInto('runtimes').values({ workspace_id: workspaceId, user_id: userId, desired: 'running' }).execute();
}

export async function markRuntimeDeleted(db: Database, workspaceId: string): Promise<void> {
  await one(db, workspaceId)
    .set({ desired: 'deleted', phase: 'Deleting', updated_at: sql<Date>`now()` })
    .execute();
}

/** Time at which the workspace's last turn ended or was suspended. */
export async function findLastTurnEnd(db: Database, workspaceId: string): Promise<Date | undefined> {
  const { rows } = await sql<{ endedAt: Date | null }>`
    SELECT max(finished_at) AS "endedAt" FROM turns WHERE workspace_id = ${workspaceId}`.execute(db);
  return rows[0]?.endedAt ?? undefined;
}

export async function lockRuntime(db: Database, workspaceId: string): Promise<RuntimeDesired | undefined> {
  const row = await db
    .selectFrom('runtimes')
    .select('desired')
    .where('workspace_id', '=', workspaceId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row?.desired;
}

/** Sets the desired state `running`. The caller holds the row lock. */
export async function resumeRuntime(db: Database, workspaceId: string): Promise<void> {
  // updated_at stays: the runtime was not observed, and its view does not change.
  await one(db, workspaceId)
    .set({ desired: 'running', failures: 0, wanted_at: sql<Date>`now()` })
    .execute();
}

export function getRuntime(db: Database, workspaceId: string): Promise<RuntimeRow | undefined> {
  return db.selectFrom('runtimes').selectAll().where('workspace_id', '=', workspaceId).executeTakeFirst();
}

/** Omits workspaces without a runtime. */
export async function listRuntimes(db: Database, workspaceIds: readonly string[]): Promise<ListedRuntime[]> {
  return (await sql<ListedRuntime>`${LISTED} WHERE r.workspace_id = ANY(${[...workspaceIds]}::uuid[])`.execute(db))
    .rows;
}

/** Ordered by workspace id. */
export async function pageRuntimes(db: Database, after: string, limit: number): Promise<ListedRuntime[]> {
  return (
    await sql<ListedRuntime>`
      ${LISTED} WHERE r.workspace_id > ${after} ORDER BY r.workspace_id LIMIT ${limit}`.execute(db)
  ).rows;
}

export async function updateRuntime(db: Database, workspaceId: string, update: RuntimeUpdate): Promise<void> {
  await one(db, workspaceId)
    .set({ ...update, updated_at: sql<Date>`now()` })
    .execute();
}

export async function deleteRuntime(db: Database, workspaceId: string): Promise<void> {
  await db.deleteFrom('runtimes').where('workspace_id', '=', workspaceId).execute();
}
