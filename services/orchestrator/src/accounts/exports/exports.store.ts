import type { ExportStatus } from '@uswarm/contract';
import type { Database } from '../../platform/database/database.js';
import { inMs } from '../../platform/database/in-ms.js';

export interface ExportRow {
  id: string;
  /** Null after the user is deleted. */
  user_id: string | null;
  /** Null: an account's export. The workspace may be deleted. */
  workspace_id: string | null;
  status: ExportStatus;
  /** The archive's object key; null before the first attempt. */
  object_id: string | null;
  size: number | null;
  created_at: Date;
  expires_at: Date | null;
}

const COLUMNS = ['id', 'user_id', 'workspace_id', 'status', 'object_id', 'size', 'created_at', 'expires_at'] as const;

export function insertExport(
  db: Database,
  { id, userId, workspaceId }: { id: string; userId: string; workspaceId: string | null },
): Promise<ExportRow> {
  return db
    .insertInto('exports')
    .values({ id, user_id: userId, workspace_id: workspaceId })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

/** Newest first. @param workspaceId null: the account's */
export function listExports(db: Database, userId: string, workspaceId: string | null): Promise<ExportRow[]> {
  return db
    .selectFrom('exports')
    .select(COLUMNS)
    .where('user_id', '=', userId)
    .where('workspace_id', workspaceId === null ? 'is' : '=', workspaceId)
    .orderBy('created_at', 'desc')
    .execute();
}

export function getExport(db: Database, id: string): Promise<ExportRow | undefined> {
  return db.selectFrom('exports').select(COLUMNS).where('id', '=', id).executeTakeFirst();
}

/** Locks the row. Call it before the job is locked. @returns false if the export does not exist */
export async function lockExport(db: Database, id: string): Promise<boolean> {
  const row = await db.selectFrom('exports').select('id').where('id', '=', id).forUpdate().executeTakeFirst();
  return row !== undefined;
}

export async function beginExport(db: Database, id: string, objectId: string): Promise<void> {
  await db.updateTable('exports').set({ status: 'running', object_id: objectId }).where('id', '=', id).execute();
}

export async function finishExport(db: Database, id: string, size: number, keptMs: number): Promise<void> {
  const set = { status: 'ready', size, expires_at: inMs(keptMs) } as const;
  await db.updateTable('exports').set(set).where('id', '=', id).execute();
}

export async function failExport(db: Database, id: string, keptMs: number): Promise<void> {
  await db
    .updateTable('exports')
    .set({ status: 'failed', expires_at: inMs(keptMs) })
    .where('id', '=', id)
    .execute();
}

export async function deleteExport(db: Database, id: string): Promise<void> {
  await db.deleteFrom('exports').where('id', '=', id).execute();
}
