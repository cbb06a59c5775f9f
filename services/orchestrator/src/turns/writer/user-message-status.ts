import type { MessageStatus } from '@uswarm/contract';
import type { Transaction } from '../../platform/database/database.js';
import type { EventLog } from '../../records/event-log.js';
import type { TurnRow } from '../turns.store.js';

/** Statuses that each new status can replace. */
const REPLACED: Record<'delivered' | 'read' | 'failed', readonly MessageStatus[]> = {
  delivered: ['sent', 'failed'],
  read: ['sent', 'delivered', 'failed'],
  failed: ['sent', 'delivered', 'read'],
};

/**
 * Updates the user message's status, unless another agent's turn already did. An app message that tells a workflow's
 * end does not fail with its answer.
 */
export const createUserMessageStatus =
  (events: Pick<EventLog, 'changeMessage'>, turn: Pick<TurnRow, 'workspace_id' | 'user_message_id'>) =>
  async (status: 'delivered' | 'read' | 'failed', tx: Transaction, errorCode: string | null = null): Promise<void> => {
    const { workspace_id: workspaceId, user_message_id: id } = turn;
    const change = { status, errorCode };
    await events.changeMessage({ workspaceId, id, change, from: REPLACED[status], types: ['message.updated'] }, tx);
  };
