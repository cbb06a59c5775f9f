import type { MessageStatus } from '@uswarm/contract';
import type { Transaction } from '../../platform/database/database.js';
import type { EventStore } from '../../records/events.store.js';
import type { TurnRow } from '../turns.store.js';

/** The statuses of a user message that each new status can replace. */
const REPLACED: Record<'delivered' | 'read' | 'failed', readonly MessageStatus[]> = {
  delivered: ['sent', 'failed'],
  read: ['sent', 'delivered', 'failed'],
  failed: ['sent', 'delivered', 'read'],
};

/**
 * Creates the function that updates the status of the user message, unless the turn of another agent already did. A message of the
 * app, which tells the end of a workflow, does not fail with its answer.
 */
export const createUserMessageStatus =
  (events: Pick<EventStore, 'changeMessage'>, turn: Pick<TurnRow, 'workspace_id' | 'user_message_id'>) =>
  async (status: 'delivered' | 'read' | 'failed', tx: Transaction, errorCode: string | null = null): Promise<void> => {
    const { workspace_id: workspaceId, user_message_id: id } = turn;
    const change = { status, errorCode };
    await events.changeMessage({ workspaceId, id, change, from: REPLACED[status], types: ['message.updated'] }, tx);
  };
