import type { RouteSubject } from '@uswarm/contract';
import type { Database } from '../../platform/database/database.js';

const TABLES = { agent: 'agents', conversation: 'conversations', receipt: 'receipts' } as const;

/** Without an ownership check. Undefined if the object does not exist. */
export async function findWorkspaceOf(
  db: Database,
  kind: Exclude<RouteSubject['kind'], 'workspace'>,
  id: string,
): Promise<string | undefined> {
  const row = await db.selectFrom(TABLES[kind]).select('workspace_id').where('id', '=', id).executeTakeFirst();
  return row?.workspace_id ?? undefined;
}

export async function listOwnedIds(db: Database, userId: string): Promise<string[]> {
  const rows = await db.selectFrom('workspaces').select('id').where('owner_id', '=', userId).execute();
  return rows.map(({ id }) => id);
}
