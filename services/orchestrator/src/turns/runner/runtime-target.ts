import type { RuntimeTarget } from '../../runtimes/runtime-client.js';
import { QUEUED } from '../../records/runtime-state.js';
import type { RuntimeRow } from '../../records/runtimes.store.js';
import type * as runtimeRecords from '../../records/runtimes.store.js';
import type { Database } from '../../platform/database/database.js';

/** The runtime is suspended, or its start is queued. The turn is released and waits without a time limit. */
export class RuntimeSuspended extends Error {
  override name = 'RuntimeSuspended';
}

/** @returns undefined if the runtime is not ready @throws RuntimeSuspended */
export function targetOf(
  workspaceId: string,
  runtime: Pick<RuntimeRow, 'phase' | 'reason' | 'address'> | undefined,
): RuntimeTarget | undefined {
  if (runtime?.phase === 'Suspended' || runtime?.reason === QUEUED) throw new RuntimeSuspended();
  if (runtime?.phase !== 'Ready' || runtime.address === null) return undefined;
  return { workspaceId, address: runtime.address };
}

/** @returns undefined if the runtime is not ready @throws RuntimeSuspended */
export const createRuntimeTargets =
  (database: Database, runtimes: Pick<typeof runtimeRecords, 'getRuntime'>) =>
  async (workspaceId: string): Promise<RuntimeTarget | undefined> =>
    targetOf(workspaceId, await runtimes.getRuntime(database, workspaceId));
