import type { Database } from '../../../platform/database/database.js';

export interface RuntimeProcess {
  pid: number;
  port: number;
}

export function getRuntimeProcess(db: Database, workspaceId: string): Promise<RuntimeProcess | undefined> {
  return db
    .selectFrom('runtime_processes')
    .select(['pid', 'port'])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
}

export function listRuntimeProcesses(db: Database): Promise<({ workspaceId: string } & RuntimeProcess)[]> {
  return db.selectFrom('runtime_processes').select(['workspace_id as workspaceId', 'pid', 'port']).execute();
}

export async function putRuntimeProcess(db: Database, workspaceId: string, process: RuntimeProcess): Promise<void> {
  await db
    .insertInto('runtime_processes')
    .values({ workspace_id: workspaceId, ...process })
    .onConflict((conflict) => conflict.column('workspace_id').doUpdateSet(process))
    .execute();
}

export async function deleteRuntimeProcess(db: Database, workspaceId: string): Promise<void> {
  await db.deleteFrom('runtime_processes').where('workspace_id', '=', workspaceId).execute();
}
