import { randomUUIDv7 } from 'node:crypto';
import type { Mention } from '@uswarm/contract';
import type { Transaction } from '../../database/database.js';
import { titleOf } from '../conversations/title.js';
import type { EventStore } from '../events/events.store.js';
import type { RuntimeRequests } from '../runtimes/runtime-requests.js';
import type { TurnQueue } from '../turns/turn-queue.js';
import type { Attachments, StoredAttachment } from '../uploads/attachments.js';
import type { MessageRow } from './message-view.js';
import type { MessageStore } from './messages.store.js';

export interface NewUserMessage {
  workspaceId: string;
  conversationId: string;
  userId: string;
  /** Who is to answer, one after the other. */
  agentIds: readonly string[];
  text: string;
  localId?: string;
  bodyHash?: Buffer;
  mentions?: Mention[];
  attachments?: StoredAttachment[];
}

export interface MessageIntakeDeps {
  store: Pick<MessageStore, 'insert'>;
  events: Pick<EventStore, 'append'>;
  turns: Pick<TurnQueue, 'enqueue'>;
  runtimes: Pick<RuntimeRequests, 'ensureResumed'>;
  attachments: Pick<Attachments, 'attach'>;
}

/** What users ask: a message and the replies that it wants, stored together. */
export interface Questions {
  /**
   * Call it early in the transaction: it locks the runtime, which comes before workspaces and messages.
   *
   * @throws ApiError `workspace_not_found`
   */
  prepare(workspaceId: string, tx: Transaction): Promise<void>;
  /** @throws ApiError `turn_queue_full`, `token_limit_reached`, `local_id_reused` */
  ask(question: NewUserMessage, tx: Transaction): Promise<MessageRow>;
}

export function createMessageIntake({ store, events, turns, runtimes, attachments }: MessageIntakeDeps): Questions {
  return {
    async prepare(workspaceId, tx) {
      await runtimes.ensureResumed(workspaceId, tx);
    },

    async ask(question, tx) {
      const { workspaceId, conversationId, userId, text, localId } = question;
      const id = randomUUIDv7();
      // Taking the seq locks the workspace, so what is looked up and counted below holds under concurrent sends.
      const seq = await events.append({ workspaceId, type: 'message.new', subjectId: id }, tx);
      const title = titleOf(text);
      const message = await store.insert(
        {
          id,
          workspaceId,
          conversationId,
          seq,
          role: 'user',
          content: { type: 'text', text },
          status: 'sent',
          senderId: userId,
          mentions: question.mentions ?? [],
          attachments: question.attachments ?? [],
          ...(title === undefined ? {} : { title }),
          ...(localId === undefined ? {} : { localId }),
          ...(question.bodyHash === undefined ? {} : { bodyHash: question.bodyHash }),
        },
        tx,
      );
      await attachments.attach(id, question.attachments ?? [], tx);
      for (const agentId of question.agentIds) {
        await turns.enqueue({ workspaceId, conversationId, agentId, userMessageId: id, ordinal: seq }, tx);
      }
      return message;
    },
  };
}
