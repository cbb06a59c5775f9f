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

export interface RuntimeStore {
  create(workspaceId: string, userId: string, db: Database): Promise<void>;
  markDeleted(workspaceId: string, db: Database): Promise<void>;
  lock(workspaceId: string, db: Database): Promise<RuntimeDesired | undefined>;
  /** Sets the desired state `running`. The caller holds the row lock. */
  resume(workspaceId: string, db: Database): Promise<void>;
  get(workspaceId: string, db?: Database): Promise<RuntimeRow | undefined>;
  /** Omits workspaces without a runtime. */
  list(workspaceIds: readonly string[]): Promise<ListedRuntime[]>;
  /** Ordered by workspace id. */
  page(after: string, limit: number): Promise<ListedRuntime[]>;
  /** Time at which the workspace's last turn ended or was suspended. */
  lastTurnEnd(workspaceId: string): Promise<Date | undefined>;
  update(workspaceId: string, update: RuntimeUpdate, db?: Database): Promise<void>;
  remove(workspaceId: string): Promise<void>;
}

/** A lateral join: with EXISTS, the planner reads the whole table `work`. */
const LISTED = sql`
  SELECT r.*, waiting.turn IS NOT NULL AS "turnWaits"
  FROM runtimes r
  LEFT JOIN LATERAL (
    SELECT w.subject_id AS turn FROM work w WHERE w.workspace_id = r.workspace_id AND w.kind = ${TURN_JOB} LIMIT 1
  ) waiting ON r.desired = 'suspended' OR r.phase <> 'Ready'`;

export function createRuntimeStore(database: Database): RuntimeStore {
  const one = (workspaceId: string, db: Database = database) =>
    db.updateTable('runtimes').where('workspace_id', '=', workspaceId);

  return {
    async create(workspaceId, userId, db) {
      await db
        .insertInto('runtimes')
        .values({ workspace_id: workspaceId, user_id: userId, desired: 'running' })
        .execute();
    },

    async markDeleted(workspaceId, db) {
      await one(workspaceId, db)
        .set({ desired: 'deleted', phase: 'Deleting', updated_at: sql<Date>`now()` })
        .execute();
    },

    async lastTurnEnd(workspaceId) {
      const { rows } = await sql<{ endedAt: Date | null }>`
        SELECT max(finished_at) AS "endedAt" FROM turns WHERE workspace_id = ${workspaceId}`.execute(database);
      return rows[0]?.endedAt ?? undefined;
    },

    async lock(workspaceId, db) {
      const row = await db
        .selectFrom('runtimes')
        .select('desired')
        .where('workspace_id', '=', workspaceId)
        .forNoKeyUpdate()
        .executeTakeFirst();
      return row?.desired;
    },

    async resume(workspaceId, db) {
      // updated_at stays: the runtime was not observed, and its view does not change.
      await one(workspaceId, db)
        .set({ desired: 'running', failures: 0, wanted_at: sql<Date>`now()` })
        .execute();
    },

    get: (workspaceId, db = database) =>
      db.selectFrom('runtimes').selectAll().where('workspace_id', '=', workspaceId).executeTakeFirst(),

    list: async (workspaceIds) =>
      (await sql<ListedRuntime>`${LISTED} WHERE r.workspace_id = ANY(${[...workspaceIds]}::uuid[])`.execute(database))
        .rows,

    page: async (after, limit) =>
      (
        await sql<ListedRuntime>`
          ${LISTED} WHERE r.workspace_id > ${after} ORDER BY r.workspace_id LIMIT ${limit}`.execute(database)
      ).rows,

    async update(workspaceId, update, db = database) {
      await one(workspaceId, db)
        .set({ ...update, updated_at: sql<Date>`now()` })
        .execute();
    },

    async remove(workspaceId) {
      await database.deleteFrom('runtimes').where('workspace_id', '=', workspaceId).execute();
    },
  };
}
