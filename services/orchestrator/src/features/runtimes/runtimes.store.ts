import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { InternalPhase, RuntimeDesired } from '../../database/schema.js';
import { TURN_JOB } from '../turns/turn-queue.js';

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
  /** Since when it does not answer although it is Ready; null while it does. */
  silent_since: Date | null;
  /** Until then it is identified as often as release 0.2 does it. */
  polled_until: Date | null;
  failures: number;
  /** Since when it is to run and nothing holds it. */
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

/** `turnWaits`: it is to be suspended, and yet a turn waits for it. */
export type ListedRuntime = RuntimeRow & { turnWaits: boolean };

export interface RuntimeStore {
  /** Wants a running runtime for the workspace. */
  want(workspaceId: string, userId: string, db: Database): Promise<void>;
  /** Wants the runtime gone. */
  unwant(workspaceId: string, db: Database): Promise<void>;
  /** Locks the row for the transaction. @returns what is wanted */
  lock(workspaceId: string, db: Database): Promise<RuntimeDesired | undefined>;
  /** Wants a suspended runtime to run again. The row is locked. */
  resume(workspaceId: string, db: Database): Promise<void>;
  get(workspaceId: string, db?: Database): Promise<RuntimeRow | undefined>;
  /** Those that exist. */
  list(workspaceIds: readonly string[]): Promise<ListedRuntime[]>;
  /** The next `limit` runtimes after a workspace, by id of their workspaces. */
  page(after: string, limit: number): Promise<ListedRuntime[]>;
  update(workspaceId: string, update: RuntimeUpdate, db?: Database): Promise<void>;
  remove(workspaceId: string): Promise<void>;
}

/** Joined a row at a time: the planner would read all of `work` for an EXISTS. */
const LISTED = sql`
  SELECT r.*, waiting.turn IS NOT NULL AS "turnWaits"
  FROM runtimes r
  LEFT JOIN LATERAL (
    SELECT w.subject_id AS turn FROM work w WHERE w.workspace_id = r.workspace_id AND w.kind = ${TURN_JOB} LIMIT 1
  ) waiting ON r.desired = 'suspended'`;

export function createRuntimeStore(database: Database): RuntimeStore {
  const one = (workspaceId: string, db: Database = database) =>
    db.updateTable('runtimes').where('workspace_id', '=', workspaceId);

  return {
    async want(workspaceId, userId, db) {
      await db
        .insertInto('runtimes')
        .values({ workspace_id: workspaceId, user_id: userId, desired: 'running' })
        .execute();
    },

    async unwant(workspaceId, db) {
      await one(workspaceId, db)
        .set({ desired: 'deleted', phase: 'Deleting', updated_at: sql<Date>`now()` })
        .execute();
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
      // Not updated_at: nobody has looked at it, and it shows as it did.
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
