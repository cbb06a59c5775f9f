import type { MessageStatus } from '@uswarm/contract';
import type { Transaction } from '../../database/database.js';
import type { TurnMessagesDeps } from './turn-messages.js';
import type { TurnRow } from './turns.store.js';

/** The statuses of a user message that each new status can replace. */
const REPLACED: Record<'delivered' | 'read' | 'failed', ReadonlySet<MessageStatus>> = {
  delivered: new Set(['sent', 'failed']),
  read: new Set(['sent', 'delivered', 'failed']),
  failed: new Set(['sent', 'delivered', 'read']),
};

/** Creates the function that updates the status of the user message, unless the turn of another agent already did. */
export const createUserMessageStatus =
  ({ messages, events }: Pick<TurnMessagesDeps, 'messages' | 'events'>, turn: TurnRow) =>
  async (status: 'delivered' | 'read' | 'failed', tx: Transaction, errorCode: string | null = null): Promise<void> => {
    const [userMessage] = await messages.find([turn.user_message_id], tx);
    // A message of the app, which tells the end of a workflow, does not fail with its answer.
    if (userMessage?.role === 'system' || (userMessage && !REPLACED[status].has(userMessage.status))) return;
    await messages.update(turn.user_message_id, { status, errorCode }, tx);
    const event = { workspaceId: turn.workspace_id, type: 'message.updated', subjectId: turn.user_message_id } as const;
    await events.append(event, tx);
  };
