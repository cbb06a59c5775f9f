import { ApiError } from '@uswarm/contract';
import type { Database, WithTransaction } from '../platform/database/database.js';
import type { EventLog } from '../records/event-log.js';
import type { PushJobs } from '../records/push-jobs.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import type { ReadState } from './read-position.store.js';
import type * as readPositionRecords from './read-position.store.js';

export interface ReadPositionDeps {
  database: Database;
  withTransaction: WithTransaction;
  store: Pick<typeof readPositionRecords, 'findReadState' | 'findReadSeq' | 'moveReadPosition'>;
  events: Pick<EventLog, 'append' | 'lock'>;
  access: WorkspaceAccess;
  push: Pick<PushJobs, 'withdraw'>;
}

export interface ReadTarget {
  userId: string;
  workspaceId: string;
  conversationId: string;
  /** The last message that was read. Default: all messages shown so far. */
  messageId?: string | undefined;
}

/**
 * Moves the read position of a conversation forward only.
 *
 * @throws ApiError `conversation_not_found`, `message_not_found`
 */
export type MarkRead = (target: ReadTarget) => Promise<void>;

export function createMarkRead({ database, withTransaction, store, events, access, push }: ReadPositionDeps): MarkRead {
  async function stateOf({ workspaceId, conversationId }: ReadTarget, db: Database = database): Promise<ReadState> {
    const state = await store.findReadState(db, workspaceId, conversationId);
    if (state === undefined) throw new ApiError('conversation_not_found');
    return state;
  }

  async function seqOf(conversationId: string, messageId: string, db: Database = database): Promise<number> {
    const seq = await store.findReadSeq(db, conversationId, messageId);
    if (seq === undefined) throw new ApiError('message_not_found');
    return seq;
  }

  async function isRead({ conversationId, messageId }: ReadTarget, state: ReadState): Promise<boolean> {
    if (messageId === undefined) return state.unread === 0 && state.newest <= state.seq;
    return (await seqOf(conversationId, messageId)) <= state.seq;
  }

  return async (target) => {
    const { userId, workspaceId, conversationId, messageId } = target;
    await access.require(userId, workspaceId);
    if (await isRead(target, await stateOf(target))) return;
    await withTransaction(async (tx) => {
      // Under this lock no message becomes unread: the events show what they change.
      await events.lock(workspaceId, tx);
      const { unread } = await stateOf(target, tx);
      if (unread > 0) await events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx);
      // The seq of this event is the read position: lower seqs are committed, and later messages get higher ones.
      const now = await events.append({ workspaceId, type: 'conversation.updated', subjectId: conversationId }, tx);
      const seq = messageId === undefined ? now : await seqOf(conversationId, messageId, tx);
      if (!(await store.moveReadPosition(tx, conversationId, seq))) throw new ApiError('conversation_not_found');
      await push.withdraw({ conversationId, userId }, tx);
    });
  };
}
