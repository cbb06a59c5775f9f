import { ApiError, type FormValue, type MessageData } from '@uswarm/contract';
import type { Database, Transaction, WithTransaction } from '../platform/database/database.js';
import type { AgentStatuses } from '../records/agent-statuses.js';
import type { Approvals } from '../turns/approvals/approvals.js';
import type { EventLog } from '../records/event-log.js';
import type { PushJobs } from '../records/push-jobs.js';
import { titleOf } from '../records/title.js';
import type { RateLimits } from '../platform/rate-limits/rate-limits.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import { choiceOf } from './action-card.js';
import { type MessageRow, messageView, type CreateViewContext } from './message-view.js';
import { isAgentDeleted } from '../records/agents.store.js';
import { storeDecisionMessage } from '../records/approvals.store.js';
import { findMessages } from '../records/messages.store.js';
import type { UserMessages } from './user-messages.js';
import { updateMessage } from '../records/message-rows.js';

export interface ActionServiceDeps {
  database: Database;
  withTransaction: WithTransaction;
  events: Pick<EventLog, 'append'>;
  messages: Pick<UserMessages, 'prepare' | 'store'>;
  approvals: Pick<Approvals, 'decide'>;
  statuses: Pick<AgentStatuses, 'refreshWorkspace'>;
  push: Pick<PushJobs, 'withdraw'>;
  rates: Pick<RateLimits, 'send'>;
  access: WorkspaceAccess;
  createViewContext: CreateViewContext;
}

const NO_FORM = { fields: [{ path: 'values', message: 'the card has no form' }] };

export interface ActionTarget {
  userId: string;
  workspaceId: string;
  messageId: string;
  actionId: string;
  /** Of a form, by field. */
  values?: Readonly<Record<string, FormValue>> | undefined;
}

export interface ActionService {
  /**
   * Records a choice in its card and queues a turn of the agent that offered it, in one transaction. Repeating the
   * same choice changes nothing. A choice on a call of a tool, or on more tokens, continues the turn that asked.
   *
   * @throws ApiError `message_not_found`, `action_not_found`, `action_already_chosen`, `approval_closed`,
   *   `agent_deleted`, `turn_queue_full`, `token_limit_reached`, `validation_failed`
   */
  choose(target: ActionTarget): Promise<MessageData>;
}

export function createActionService(deps: ActionServiceDeps): ActionService {
  const { database, withTransaction, events, messages, approvals, statuses, access, createViewContext } = deps;

  async function read({ workspaceId, messageId }: ActionTarget, db: Database = database): Promise<MessageRow> {
    const [row] = await findMessages(db, [messageId]);
    if (row?.workspace_id !== workspaceId) throw new ApiError('message_not_found');
    return row;
  }

  async function record(target: ActionTarget, tx: Transaction): Promise<void> {
    const { userId, workspaceId, messageId, actionId, values } = target;
    await messages.prepare(workspaceId, tx);
    // Allocating the seq locks the workspace: of two concurrent choices, the second reads what the first wrote.
    await events.append({ workspaceId, type: 'message.updated', subjectId: messageId }, tx);
    const row = await read(target, tx);
    const { card, label, made } = choiceOf(row, actionId);
    if (made) throw new ApiError('action_already_chosen');
    if (values !== undefined && card.form === undefined) throw new ApiError('validation_failed', { extra: NO_FORM });
    const agentId = row.agent_id;
    if (agentId === null) throw new ApiError('action_not_found');
    if (await isAgentDeleted(tx, agentId)) throw new ApiError('agent_deleted');
    await updateMessage(tx, messageId, { content: { ...card, selected_action_id: actionId } });
    const decided = await approvals.decide({ cardMessageId: messageId, actionId, values }, tx);
    const text = decided?.text ?? label;
    const message = { workspaceId, conversationId: row.conversation_id, userId, text, title: titleOf(text) };
    if (decided === undefined) await messages.store({ ...message, agentIds: [agentId] }, tx);
    else {
      const agentIds = decided.suspendedTurnId === undefined ? [] : [agentId];
      const { id } = await messages.store({ ...message, agentIds }, tx, decided);
      if (agentIds.length === 0) await storeDecisionMessage(tx, messageId, id);
    }
    await deps.push.withdraw({ messageIds: [messageId] }, tx);
    await statuses.refreshWorkspace(workspaceId, tx);
  }

  return {
    async choose(target) {
      await access.require(target.userId, target.workspaceId);
      const row = await read(target);
      if (choiceOf(row, target.actionId).made) return messageView(row, createViewContext());
      await deps.rates.send(target.userId);
      try {
        await withTransaction((tx) => record(target, tx));
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'action_already_chosen') throw error;
        // A concurrent request won the race. If it made the same choice, the result is the same.
        choiceOf(await read(target), target.actionId);
      }
      return messageView(await read(target), createViewContext());
    },
  };
}
