import type { ImportProblem } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { inMs } from '../../platform/database/in-ms.js';

export interface ImportRow {
  id: string;
  /** Null after the user is deleted. */
  user_id: string | null;
  /** `receiving`: the file is not complete. */
  status: 'receiving' | 'pending' | 'running' | 'done' | 'failed';
  problem: ImportProblem | null;
  /** The file's object key; null after the end. */
  object_id: string | null;
  size: number;
  workspace_id: string | null;
  created_at: Date;
  expires_at: Date | null;
}

const COLUMNS = [
  'id',
  'user_id',
  'status',
  'problem',
  'object_id',
  'size',
  'workspace_id',
  'created_at',
  'expires_at',
] as const;

/** For a user without an unfinished one. */
export async function insertImport(db: Database, id: string, userId: string): Promise<void> {
  await db.insertInto('imports').values({ id, user_id: userId, object_id: id }).execute();
}

/** The unfinished import, and when the user's last import began that stored something. */
export async function findImportsOf(
  db: Database,
  userId: string,
): Promise<{ unfinished: string | null; last: Date | null }> {
  const isUnfinished = sql`status NOT IN ('done', 'failed')`;
  return db
    .selectFrom('imports')
    .select(sql<string | null>`(array_agg(id) FILTER (WHERE ${isUnfinished}))[1]`.as('unfinished'))
    .select(
      sql<Date | null>`max(created_at) FILTER (WHERE problem IS DISTINCT FROM 'not_a_swarm_file' AND NOT ${isUnfinished})`.as(
        'last',
      ),
    )
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
}

export function getImport(db: Database, id: string): Promise<ImportRow | undefined> {
  return db.selectFrom('imports').select(COLUMNS).where('id', '=', id).$castTo<ImportRow>().executeTakeFirst();
}

/** @returns undefined if it is not received any more */
export function finishReceiving(db: Database, id: string, size: number): Promise<ImportRow | undefined> {
  return db
    .updateTable('imports')
    .set({ status: 'pending', size })
    .where('id', '=', id)
    .where('status', '=', 'receiving')
    .returning(COLUMNS)
    .$castTo<ImportRow>()
    .executeTakeFirst();
}

/** Locks the row. Call it before the job is locked. @returns its owner; undefined without import or owner */
export async function lockImport(db: Database, id: string): Promise<string | undefined> {
  const row = await db.selectFrom('imports').select('user_id').where('id', '=', id).forUpdate().executeTakeFirst();
  return row?.user_id ?? undefined;
}

export async function beginImport(db: Database, id: string): Promise<void> {
  await db.updateTable('imports').set({ status: 'running' }).where('id', '=', id).execute();
}

export async function endImport(
  db: Database,
  id: string,
  end: { status: 'done'; workspace_id: string } | { status: 'failed'; problem: ImportProblem },
  keptMs: number,
): Promise<void> {
  await db
    .updateTable('imports')
    .set({ ...end, expires_at: inMs(keptMs) })
    .where('id', '=', id)
    .execute();
}

export async function forgetObject(db: Database, id: string): Promise<void> {
  await db.updateTable('imports').set({ object_id: null }).where('id', '=', id).execute();
}

export async function deleteImport(db: Database, id: string): Promise<void> {
  await db.deleteFrom('imports').where('id', '=', id).execute();
}
