import { ApiError } from '@uswarm/contract';
import type { Database, WithTransaction } from '../platform/database/database.js';
import type { JobDefinition } from '../platform/jobs/job-definition.js';
import { AGENT_REMOVAL_JOB } from '../records/agent-removal-job.js';
import type { AgentStatuses } from '../records/agent-statuses.js';
import type { EventLog } from '../records/event-log.js';
import { deleteMemoriesOfAgent } from '../records/memories.store.js';
import type { PushJobs } from '../records/push-jobs.js';
import { listOpenQuestions, listOpenTurns } from './agent-removal.store.js';
import { withdrawCards } from './approvals/withdraw-cards.js';
import type { StopService } from './stop.service.js';

export interface AgentRemovalDeps {
  withTransaction: WithTransaction;
  database: Database;
  events: Pick<EventLog, 'append' | 'lock'>;
  push: Pick<PushJobs, 'withdraw'>;
  stops: Pick<StopService, 'stopAll'>;
  statuses: Pick<AgentStatuses, 'refreshAgent'>;
}

function ignoreDeletedWorkspace(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 'workspace_not_found') throw error;
}

/**
 * Ends what a deleted agent has begun, as a stop of the user does: a stopped step cancels its workflow, and an agent that
 * waits for a task learns that it was stopped. Its later turns stop themselves, because its row is deleted.
 */
export const agentRemoval = (deps: AgentRemovalDeps): JobDefinition => ({
  type: AGENT_REMOVAL_JOB,
  async handle({ subjectId: agentId, workspaceId }) {
    const { withTransaction, database, events, statuses } = deps;
    await deps.stops.stopAll(await listOpenTurns(database, agentId));
    await withTransaction(async (tx) => {
      await events.lock(workspaceId, tx);
      const questions = await listOpenQuestions(tx, { workspaceId, agentId });
      await withdrawCards(
        deps,
        questions.map((messageId) => ({ messageId, workspaceId })),
        tx,
      );
      await statuses.refreshAgent(agentId, tx);
    }).catch(ignoreDeletedWorkspace);
    await deleteMemoriesOfAgent(database, agentId);
    return { done: true };
  },
});
