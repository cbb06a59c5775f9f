import { ApiError } from '@uswarm/contract';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import { findMessagesWrittenBy, findNewestMerged } from '../records/message-changes.store.js';
import type { EventLog } from '../records/event-log.js';
import { findMessages } from '../records/messages.store.js';
import type { Withdraw } from './withdrawal.js';
import type { TurnQueue } from '../turns/turn-queue.js';
import { isUnfinished } from '../turns/turn-status.js';
import type { Database } from '../platform/database/database.js';

export interface MessageDeletionDeps {
  database: Database;
  withdraw: Withdraw;
  queue: Pick<TurnQueue, 'follow'>;
  events: Pick<EventLog, 'changeMessage'>;
  access: WorkspaceAccess;
}

export interface MessageDeletion {
  /**
   * Deletes a message permanently. If it is an unfinished reply, or a user message with one, the turn is cancelled
   * and everything that it wrote is deleted; other messages that the turn would have answered are answered by another one.
   *
   * @throws ApiError `message_not_found`; `turn_running` for another message of an unfinished reply
   */
  delete(userId: string, workspaceId: string, messageId: string): Promise<void>;
}

export function createMessageDeletion({
  database,
  withdraw,
  queue,
  events,
  access,
}: MessageDeletionDeps): MessageDeletion {
  return {
    async delete(userId, workspaceId, messageId) {
      await access.require(userId, workspaceId);
      const [row] = await findMessages(database, [messageId]);
      if (row?.workspace_id !== workspaceId) throw new ApiError('message_not_found');
      const context = { messageId, workspaceId, conversationId: row.conversation_id };
      await withdraw(context, async ({ turns, end, remove }, tx) => {
        const cancelled = turns.filter(isUnfinished);
        const isPart = cancelled.some((turn) => ![turn.userMessageId, turn.replyMessageId].includes(messageId));
        if (isPart) throw new ApiError('turn_running');
        const written = await findMessagesWrittenBy(
          tx,
          cancelled.map(({ id }) => id),
        );
        const ids = [...new Set([messageId, ...written])];
        await end(cancelled, ids);
        const unanswered = cancelled.filter(({ userMessageId }) => userMessageId === messageId);
        for (const { id, agentId } of unanswered) {
          const left = await findNewestMerged(tx, id);
          if (left === undefined) continue;
          const change = { answeredWith: null };
          await events.changeMessage({ workspaceId, id: left.userMessageId, change, types: ['message.updated'] }, tx);
          await queue.follow({ ...context, ...left, agentId, userId }, tx);
        }
        if (!(await remove(ids)).includes(messageId)) throw new ApiError('message_not_found');
      });
    },
  };
}
