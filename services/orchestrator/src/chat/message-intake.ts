import { randomUUIDv7 } from 'node:crypto';
import type { Mention } from '@uswarm/contract';
import type { Transaction } from '../platform/database/database.js';
import { pipelined } from '../platform/database/pipelined.js';
import { titleOf } from '../records/title.js';
import type { Approvals } from '../turns/approvals/approvals.js';
import type { EventStore } from '../records/events.store.js';
import type { RuntimeRequests } from '../records/runtime-requests.js';
import type { TurnQueue } from '../turns/turn-queue.js';
import type { Attachments, StoredAttachment } from '../workspaces/uploads/attachments.js';
import type { MessageRow } from './message-view.js';
import type { MessageStore, NewMessage } from '../records/messages.store.js';

export interface NewUserMessage {
  workspaceId: string;
  conversationId: string;
  userId: string;
  /** The agents that answer, in this order. */
  agentIds: readonly string[];
  text: string;
  localId?: string;
  bodyHash?: Buffer;
  mentions?: readonly Mention[];
  attachments?: StoredAttachment[];
  /** The decision on a call of a tool. A suspended turn, if it has one, continues with this message. */
  decision?: { suspendedTurnId?: string };
}

export interface MessageIntakeDeps {
  store: Pick<MessageStore, 'insert'>;
  events: Pick<EventStore, 'append'>;
  turns: Pick<TurnQueue, 'enqueue'>;
  runtimes: Pick<RuntimeRequests, 'ensureResumed'>;
  attachments: Pick<Attachments, 'attach'>;
  approvals: Pick<Approvals, 'supersede'>;
}

/** Stores a user message together with the turns that answer it. */
export interface MessageIntake {
  /**
   * Call it early in the transaction: the lock order is runtime, workspace, messages, and it locks the runtime.
   *
   * @throws ApiError `workspace_not_found`
   */
  prepare(workspaceId: string, tx: Transaction): Promise<void>;
  /** @throws ApiError `turn_queue_full`, `token_limit_reached`, `local_id_reused` */
  create(newMessage: NewUserMessage, tx: Transaction): Promise<MessageRow>;
}

export function createMessageIntake(deps: MessageIntakeDeps): MessageIntake {
  const { store, events, turns, runtimes, attachments, approvals } = deps;
  return {
    async prepare(workspaceId, tx) {
      await runtimes.ensureResumed(workspaceId, tx);
    },

    async create(newMessage, tx) {
      const { workspaceId, conversationId, userId, text, localId, decision } = newMessage;
      const id = randomUUIDv7();
      // Allocating the seq locks the workspace, so concurrent sends cannot change the lookups and counts below.
      const seq = await events.append({ workspaceId, type: 'message.new', subjectId: id }, tx);
      const title = titleOf(text);
      const row: NewMessage = {
        id,
        workspaceId,
        conversationId,
        seq,
        content: { type: 'text', text },
        // A running turn reads a decision itself.
        status: newMessage.agentIds.length === 0 ? 'read' : 'sent',
        senderId: userId,
        mentions: newMessage.mentions ?? [],
        attachments: newMessage.attachments ?? [],
        ...(title === undefined ? {} : { title }),
        ...(localId === undefined ? {} : { localId }),
        ...(newMessage.bodyHash === undefined ? {} : { bodyHash: newMessage.bodyHash }),
      };
      const resumes = decision?.suspendedTurnId;
      const turn = { workspaceId, conversationId, userId, userMessageId: id, ordinal: seq };
      const [message] = await pipelined(tx, (sender) => [
        store.insert(row, sender),
        ...newMessage.agentIds.map((agentId) =>
          turns.enqueue({ ...turn, agentId, ...(resumes === undefined ? {} : { resumes }) }, sender),
        ),
      ]);
      await attachments.attach(id, newMessage.attachments ?? [], tx);
      if (decision === undefined && message.has_open_approvals) await approvals.supersede(conversationId, tx);
      return message;
    },
  };
}
