import { ApiError } from '@uswarm/contract';
import type { Transaction, WithTransaction } from '../../database/database.js';
import type { JobStore } from '../../jobs/job-store.js';
import type { AgentStore } from '../agents/agents.store.js';
import type { EventStore } from '../events/events.store.js';
import type { MessageStore } from '../messages/messages.store.js';
import type { LiveEvents, LiveEventsContext } from '../turns/live-events.js';
import type { CancelRuntimeTurn } from '../turns/cancel-runtime-turn.js';
import { SUMMARY_JOB, TITLE_JOB } from '../summaries/follow-ups.js';
import { TURN_JOB } from '../turns/turn-queue.js';
import type { RunningTurn, TurnStore } from '../turns/turns.store.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import type { ConversationStore } from './conversations.store.js';

export interface ConversationDeletionDeps {
  withTransaction: WithTransaction;
  store: Pick<ConversationStore, 'findTarget' | 'remove'>;
  messages: Pick<MessageStore, 'trimOldest'>;
  turns: Pick<TurnStore, 'running' | 'isBusyElsewhere' | 'waitingAgents'>;
  jobs: Pick<JobStore, 'cancelSerial' | 'remove'>;
  agents: Pick<AgentStore, 'setActivity'>;
  events: Pick<EventStore, 'append'>;
  access: WorkspaceAccess;
  /** Cancels a running turn whose agent message is deleted. */
  stopInRuntime: CancelRuntimeTurn;
  live: (context: LiveEventsContext) => Pick<LiveEvents, 'status'>;
}

export interface ConversationDeletion {
  /**
   * Deletes the conversation with its messages, attachments and unfinished turns.
   *
   * @throws ApiError `conversation_not_found`
   */
  delete(userId: string, workspaceId: string, conversationId: string): Promise<void>;
}

/** Messages deleted per transaction, so that each transaction is short. */
const DELETION_BATCH = 2_000;

/** Turns and agents that the deletion releases. */
interface FreedAgents {
  /** Turns that were running. */
  turns: RunningTurn[];
  /** Agents without other work. */
  agents: string[];
}

export function createConversationDeletion(deps: ConversationDeletionDeps): ConversationDeletion {
  const { withTransaction, store, messages, turns, jobs, agents, events, access } = deps;

  async function freeAgents(conversationId: string, tx: Transaction): Promise<FreedAgents> {
    const running = await turns.running(conversationId, tx);
    const idle = await turns.waitingAgents(conversationId, tx);
    for (const { id, agentId } of running) {
      if (!(await turns.isBusyElsewhere(agentId, id, tx))) idle.push(agentId);
    }
    for (const agentId of idle) await agents.setActivity(agentId, 'online', tx);
    return { turns: running, agents: idle };
  }

  /** Lock order everywhere: jobs, agents, workspace, messages. */
  async function remove(workspaceId: string, conversationId: string, tx: Transaction) {
    await jobs.cancelSerial(TURN_JOB, conversationId, tx);
    await jobs.remove(SUMMARY_JOB, [conversationId], tx);
    await jobs.remove(TITLE_JOB, [conversationId], tx);
    const freed = await freeAgents(conversationId, tx);
    const seq = await events.append({ workspaceId, type: 'conversation.deleted', subjectId: conversationId }, tx);
    while ((await messages.trimOldest(conversationId, 0, DELETION_BATCH, tx)) === DELETION_BATCH);
    if (!(await store.remove(conversationId, tx))) throw new ApiError('conversation_not_found');
    return { seq, freed };
  }

  return {
    async delete(userId, workspaceId, conversationId) {
      await access.require(userId, workspaceId);
      const found = await store.findTarget(workspaceId, conversationId);
      if (found === undefined) throw new ApiError('conversation_not_found');
      // Delete most messages of a long conversation first: the last transaction locks the workspace. The newest
      // messages stay until then because running turns write to them.
      while ((await messages.trimOldest(conversationId, DELETION_BATCH, DELETION_BATCH)) === DELETION_BATCH);
      const { seq, freed } = await withTransaction((tx) => remove(workspaceId, conversationId, tx));
      for (const turn of freed.turns) deps.stopInRuntime(workspaceId, turn);
      for (const agentId of freed.agents) deps.live({ workspaceId, conversationId, agentId }).status('online', seq);
    },
  };
}
