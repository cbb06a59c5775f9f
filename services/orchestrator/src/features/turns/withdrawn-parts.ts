import type { Transaction } from '../../database/database.js';
import type { ApprovalStore } from '../approvals/approvals.store.js';
import type { TurnMessagesDeps } from './turn-messages.js';
import type { TurnRow, TurnStore } from './turns.store.js';

export interface WithdrawnPartsDeps extends Pick<TurnMessagesDeps, 'events'> {
  messages: Pick<TurnMessagesDeps['messages'], 'update'>;
  turns: Pick<TurnStore, 'runningTools' | 'openCards'>;
  approvals: Pick<ApprovalStore, 'supersedeOfTurn'>;
}

/** Ends the messages of a turn that nothing will end. */
export interface WithdrawnParts {
  /** Marks tools without a result as failed. */
  failRunningTools(tx: Transaction): Promise<void>;
  /** Withdraws the open cards of a lost turn. */
  withdrawCards(tx: Transaction): Promise<void>;
  /** Withdraws cards that can no longer be decided on. */
  closeApprovals(tx: Transaction): Promise<void>;
}

export function createWithdrawnParts(
  { events, messages, turns, approvals }: WithdrawnPartsDeps,
  { id: turnId, workspace_id: workspaceId }: Pick<TurnRow, 'id' | 'workspace_id'>,
): WithdrawnParts {
  type Change = Parameters<typeof messages.update>[1];
  async function update(messageId: string, change: Change, tx: Transaction): Promise<void> {
    await messages.update(messageId, change, tx);
    await events.append({ workspaceId, type: 'message.updated', subjectId: messageId }, tx);
  }
  const withdrawn: Change = { status: 'failed', errorCode: 'withdrawn' };

  return {
    async failRunningTools(tx) {
      for (const { id, content } of await turns.runningTools(turnId, tx)) {
        if (content.type === 'tool_status') await update(id, { content: { ...content, state: 'failed' } }, tx);
      }
    },

    async withdrawCards(tx) {
      for (const id of await turns.openCards(turnId, tx)) await update(id, withdrawn, tx);
    },

    async closeApprovals(tx) {
      for (const { messageId } of await approvals.supersedeOfTurn(turnId, tx)) await update(messageId, withdrawn, tx);
    },
  };
}
