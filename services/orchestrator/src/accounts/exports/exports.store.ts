import type { ExportStatus } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';

export interface ExportRow {
  id: string;
  /** Null after the user is deleted. */
  user_id: string | null;
  status: ExportStatus;
  /** The archive's object key; null before the first attempt. */
  object_id: string | null;
  size: number | null;
  created_at: Date;
  expires_at: Date | null;
}

export interface ExportStore {
  insert(id: string, userId: string, db: Database): Promise<ExportRow>;
  /** Newest first. */
  list(userId: string, db?: Database): Promise<ExportRow[]>;
  get(id: string): Promise<ExportRow | undefined>;
  /** Locks the row. Call it before the job is locked. @returns false if the export does not exist */
  lock(id: string, db: Database): Promise<boolean>;
  begin(id: string, objectId: string, db: Database): Promise<void>;
  finish(id: string, size: number, keptMs: number, db: Database): Promise<void>;
  fail(id: string, keptMs: number, db: Database): Promise<void>;
  delete(id: string, db: Database): Promise<void>;
}

const COLUMNS = ['id', 'user_id', 'status', 'object_id', 'size', 'created_at', 'expires_at'] as const;
const inMs = (ms: number) => sql<Date>`now() + ${ms} * interval '1 millisecond'`;

export function createExportStore(database: Database): ExportStore {
  return {
    insert: (id, userId, db) =>
      db.insertInto('exports').values({ id, user_id: userId }).returning(COLUMNS).executeTakeFirstOrThrow(),

    list: (userId, db = database) =>
      db.selectFrom('exports').select(COLUMNS).where('user_id', '=', userId).orderBy('created_at', 'desc').execute(),

    get: (id) => database.selectFrom('exports').select(COLUMNS).where('id', '=', id).executeTakeFirst(),

    async lock(id, db) {
      const row = await db.selectFrom('exports').select('id').where('id', '=', id).forUpdate().executeTakeFirst();
      return row !== undefined;
    },

    async begin(id, objectId, db) {
      await db.updateTable('exports').set({ status: 'running', object_id: objectId }).where('id', '=', id).execute();
    },

    async finish(id, size, keptMs, db) {
      const set = { status: 'ready', size, expires_at: inMs(keptMs) } as const;
      await db.updateTable('exports').set(set).where('id', '=', id).execute();
    },

    async fail(id, keptMs, db) {
      await db
        .updateTable('exports')
        .set({ status: 'failed', expires_at: inMs(keptMs) })
        .where('id', '=', id)
        .execute();
    },

    async delete(id, db) {
      await db.deleteFrom('exports').where('id', '=', id).execute();
    },
  };
}
