import type { Database } from '../../../platform/database/database.js';

export interface RuntimeProcess {
  pid: number;
  port: number;
  /** Null unless it comes from the pool. */
  poolMember: string | null;
}

const COLUMNS = ['pid', 'port', 'pool_member as poolMember'] as const;

export function getRuntimeProcess(db: Database, workspaceId: string): Promise<RuntimeProcess | undefined> {
  return db.selectFrom('runtime_processes').select(COLUMNS).where('workspace_id', '=', workspaceId).executeTakeFirst();
}

export function listRuntimeProcesses(db: Database): Promise<({ workspaceId: string } & RuntimeProcess)[]> {
  return db
    .selectFrom('runtime_processes')
    .select(['workspace_id as workspaceId', ...COLUMNS])
    .execute();
}

export async function putRuntimeProcess(
  db: Database,
  workspaceId: string,
  { pid, port, poolMember }: RuntimeProcess,
): Promise<void> {
  const process = { pid, port, pool_member: poolMember };
  await db
    .insertInto('runtime_processes')
    .values({ workspace_id: workspaceId, ...process })
    .onConflict((conflict) => conflict.column('workspace_id').doUpdateSet(process))
    .execute();
}

export async function deleteRuntimeProcess(db: Database, workspaceId: string): Promise<void> {
  await db.deleteFrom('runtime_processes').where('workspace_id', '=', workspaceId).execute();
}
