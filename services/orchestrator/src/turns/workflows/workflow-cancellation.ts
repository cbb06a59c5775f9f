import type { WithTransaction, Database } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { CancelRuntimeTurn } from '../cancel-runtime-turn.js';
import { TURN_JOB } from '../../records/turn-job.js';
import type { Workflows } from './workflows.js';
import { findWorkflowShownBy } from './workflows.store.js';

export interface WorkflowCancellationDeps {
  withTransaction: WithTransaction;
  database: Database;
  workflows: Pick<Workflows, 'stop'>;
  jobs: Pick<JobQueue, 'makeDueNow'>;
  stopInRuntime: CancelRuntimeTurn;
}

/** The methods return false if the workflow does not exist or has ended. */
export interface WorkflowCancellation {
  cancel(workspaceId: string, id: string): Promise<boolean>;
  cancelShown(workspaceId: string, messageId: string): Promise<boolean>;
}

export function createWorkflowCancellation(deps: WorkflowCancellationDeps): WorkflowCancellation {
  const { withTransaction, database, workflows, jobs, stopInRuntime } = deps;

  async function cancel(workspaceId: string, id: string): Promise<boolean> {
    const stopping = await withTransaction((tx) => workflows.stop(workspaceId, id, tx));
    if (stopping === undefined) return false;
    for (const turn of stopping) stopInRuntime(workspaceId, turn);
    // Turns that have not begun, or whose runtime is unavailable, end without it.
    await jobs.makeDueNow(TURN_JOB, workspaceId);
    return true;
  }

  return {
    cancel,
    async cancelShown(workspaceId, messageId) {
      const shown = await findWorkflowShownBy(database, messageId);
      return shown?.workspace_id === workspaceId && (await cancel(workspaceId, shown.id));
    },
  };
}
