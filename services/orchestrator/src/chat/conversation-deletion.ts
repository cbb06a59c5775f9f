import { ApiError } from '@uswarm/contract';
import type { Transaction, WithTransaction, Database } from '../platform/database/database.js';
import type { JobQueue } from '../platform/jobs/job-queue.js';
import type { AgentStatuses } from '../records/agent-statuses.js';
import type { EventLog } from '../records/event-log.js';
import type { CancelRuntimeTurn } from '../turns/cancel-runtime-turn.js';
import { SUMMARY_JOB, TITLE_JOB } from '../turns/summaries/follow-ups.js';
import { TURN_JOB } from '../records/turn-job.js';
import { type RunningTurn, findRunningTurns } from '../turns/turns.store.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import { findConversationTarget } from './conversations.store.js';
import { deleteConversation } from '../records/conversation-rows.js';
import type * as messageRecords from '../records/messages.store.js';

export interface ConversationDeletionDeps {
  withTransaction: WithTransaction;
  database: Database;
  messages: Pick<typeof messageRecords, 'trimOldestMessages'>;
  jobs: Pick<JobQueue, 'cancelSerial' | 'remove'>;
  statuses: Pick<AgentStatuses, 'refreshWorkspace'>;
  events: Pick<EventLog, 'append'>;
  access: WorkspaceAccess;
  /** Cancels a running turn whose agent message is deleted. */
  stopInRuntime: CancelRuntimeTurn;
}

export interface ConversationDeletion {
  /**
   * Deletes the conversation with its messages, attachments and unfinished turns.
   *
   * @throws ApiError `conversation_not_found`
   */
  delete(userId: string, workspaceId: string, conversationId: string): Promise<void>;
}

/** Messages deleted per statement, which has a deadline. One transaction deletes all: no client sees a part, or misses the event. */
const DELETION_BATCH = 2_000;

export function createConversationDeletion(deps: ConversationDeletionDeps): ConversationDeletion {
  const { withTransaction, database, messages, jobs, statuses, events, access } = deps;

  /** Lock order everywhere: jobs, workspace, messages, agents. @returns the turns that were running */
  async function remove(workspaceId: string, conversationId: string, tx: Transaction): Promise<RunningTurn[]> {
    await jobs.cancelSerial(TURN_JOB, conversationId, tx);
    await jobs.remove(SUMMARY_JOB, [conversationId], tx);
    await jobs.remove(TITLE_JOB, [conversationId], tx);
    const running = await findRunningTurns(tx, conversationId);
    await events.append({ workspaceId, type: 'conversation.deleted', subjectId: conversationId }, tx);
    while ((await messages.trimOldestMessages(tx, conversationId, 0, DELETION_BATCH)) === DELETION_BATCH);
    if (!(await deleteConversation(tx, conversationId))) throw new ApiError('conversation_not_found');
    await statuses.refreshWorkspace(workspaceId, tx);
    return running;
  }

  return {
    async delete(userId, workspaceId, conversationId) {
      await access.require(userId, workspaceId);
      const found = await findConversationTarget(database, workspaceId, conversationId);
      if (found === undefined) throw new ApiError('conversation_not_found');
      const running = await withTransaction((tx) => remove(workspaceId, conversationId, tx));
      for (const turn of running) deps.stopInRuntime(workspaceId, turn);
    },
  };
}
