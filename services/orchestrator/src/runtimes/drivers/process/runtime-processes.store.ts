import type { Database } from '../../../platform/database/database.js';

export interface RuntimeProcess {
  pid: number;
  port: number;
}

/** Lists this machine's runtime processes, so that any orchestrator on it can adopt them. */
export interface RuntimeProcessStore {
  get(workspaceId: string): Promise<RuntimeProcess | undefined>;
  all(): Promise<({ workspaceId: string } & RuntimeProcess)[]>;
  put(workspaceId: string, process: RuntimeProcess): Promise<void>;
  delete(workspaceId: string): Promise<void>;
}

export function createRuntimeProcessStore(database: Database): RuntimeProcessStore {
  return {
    get: (workspaceId) =>
      database
        .selectFrom('runtime_processes')
        .select(['pid', 'port'])
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirst(),
    all: () =>
      database.selectFrom('runtime_processes').select(['workspace_id as workspaceId', 'pid', 'port']).execute(),
    async put(workspaceId, process) {
      await database
        .insertInto('runtime_processes')
        .values({ workspace_id: workspaceId, ...process })
        .onConflict((conflict) => conflict.column('workspace_id').doUpdateSet(process))
        .execute();
    },
    async delete(workspaceId) {
      await database.deleteFrom('runtime_processes').where('workspace_id', '=', workspaceId).execute();
    },
  };
}
