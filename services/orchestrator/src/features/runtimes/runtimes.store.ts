import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { InternalPhase, RuntimeDesired } from '../../database/schema.js';

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
  failures: number;
  updated_at: Date;
}

export type RuntimeUpdate = Partial<
  Pick<RuntimeRow, 'phase' | 'reason' | 'verified' | 'address' | 'instance_id' | 'identified_at' | 'failures'>
>;

export interface RuntimeStore {
  /** Wants a running runtime for the workspace. */
  want(workspaceId: string, userId: string, db: Database): Promise<void>;
  /** Wants the runtime gone. */
  unwant(workspaceId: string, db: Database): Promise<void>;
  get(workspaceId: string, db?: Database): Promise<RuntimeRow | undefined>;
  update(workspaceId: string, update: RuntimeUpdate, db?: Database): Promise<void>;
  remove(workspaceId: string): Promise<void>;
}

export function createRuntimeStore(database: Database): RuntimeStore {
  return {
    async want(workspaceId, userId, db) {
      await db
        .insertInto('runtimes')
        .values({ workspace_id: workspaceId, user_id: userId, desired: 'running' })
        .execute();
    },

    async unwant(workspaceId, db) {
      await db
        .updateTable('runtimes')
        .set({ desired: 'deleted', phase: 'Deleting', updated_at: sql<Date>`now()` })
        .where('workspace_id', '=', workspaceId)
        .execute();
    },

    get: (workspaceId, db = database) =>
      db.selectFrom('runtimes').selectAll().where('workspace_id', '=', workspaceId).executeTakeFirst(),

    async update(workspaceId, update, db = database) {
      await db
        .updateTable('runtimes')
        .set({ ...update, updated_at: sql<Date>`now()` })
        .where('workspace_id', '=', workspaceId)
        .execute();
    },

    async remove(workspaceId) {
      await database.deleteFrom('runtimes').where('workspace_id', '=', workspaceId).execute();
    },
  };
}
