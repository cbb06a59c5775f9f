import { ApiError, type EditMessageBody, type Mention, type MessageData } from '@uswarm/contract';
import type { Database, Transaction } from '../platform/database/database.js';
import type { EventLog } from '../records/event-log.js';
import type { RateLimits } from '../platform/rate-limits/rate-limits.js';
import type { TurnQueue } from '../turns/turn-queue.js';
import type { Attachments, StoredAttachment } from '../workspaces/uploads/attachments.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import { answeringAgents, checkedMentions, checkedText } from '../records/draft.js';
import {
  type ConcernedTurn,
  isNewestOfUser,
  findMessagesWrittenBy,
  editUserMessage,
} from '../records/message-changes.store.js';
import { type MessageRow, messageView, type CreateViewContext } from './message-view.js';
import { isAgentDeleted } from '../records/agents.store.js';
import { findMessages } from '../records/messages.store.js';
import type { SendMessageDeps } from './send-message.js';
import type { UserMessages } from './user-messages.js';
import type { MessageContext, Withdraw, Withdrawal } from './withdrawal.js';
import { isUnfinished } from '../turns/turn-status.js';
import { deleteTurns } from '../records/turn-rows.js';
import { updateMessage } from '../records/message-rows.js';

export interface MessageRevisionDeps {
  database: Database;
  findSendContext: SendMessageDeps['findSendContext'];
  withdraw: Withdraw;
  messages: Pick<UserMessages, 'prepare'>;
  queue: TurnQueue;
  events: Pick<EventLog, 'append'>;
  rates: Pick<RateLimits, 'send'>;
  attachments: Pick<Attachments, 'resolve' | 'attach'>;
  access: WorkspaceAccess;
  createViewContext: CreateViewContext;
}

export interface RevisedMessage {
  userId: string;
  workspaceId: string;
  messageId: string;
}

/** Answers the newest user message again. The limits are those of a send. */
export interface MessageRevision {
  /**
   * Replaces an answer to the newest user message: deletes everything that its turn wrote and queues another turn of
   * the same agent. @returns the user message
   *
   * @throws ApiError `message_not_found`, `message_not_an_answer`, `message_not_latest`, `turn_running`, `agent_deleted`,
   *   `turn_queue_full`, `token_limit_reached`
   */
  regenerate(target: RevisedMessage): Promise<MessageData>;
  /**
   * Changes the newest user message and answers it again. Its answers are deleted; an unfinished one is cancelled.
   * @returns the changed message
   *
   * @throws ApiError `message_not_found`, `message_not_editable`, `message_not_latest`, and those of a send
   */
  edit(target: RevisedMessage, body: EditMessageBody): Promise<MessageData>;
}

/** The agents that answer a message. */
interface AnsweredMessage extends MessageContext {
  agentIds: readonly string[];
  userId: string;
}

export function createMessageRevision(deps: MessageRevisionDeps): MessageRevision {
  const { database, withdraw, messages, events, access, createViewContext } = deps;

  async function find(messageId: string, workspaceId: string, db: Database = database): Promise<MessageRow> {
    const [row] = await findMessages(db, [messageId]);
    if (row?.workspace_id !== workspaceId) throw new ApiError('message_not_found');
    return row;
  }

  /** Call it while holding the workspace lock, which blocks sends until the transaction ends. */
  async function requireLatest({ messageId, workspaceId }: MessageContext, tx: Transaction): Promise<void> {
    await find(messageId, workspaceId, tx);
    if (!(await isNewestOfUser(tx, messageId))) throw new ApiError('message_not_latest');
  }

  async function enqueueTurns(
    { messageId, workspaceId, conversationId, agentIds, userId }: AnsweredMessage,
    replaced: readonly ConcernedTurn[],
    tx: Transaction,
  ): Promise<void> {
    const ordinal = await events.append({ workspaceId, type: 'message.updated', subjectId: messageId }, tx);
    for (const agentId of agentIds) {
      const repeatsFromMessageId = replaced.find((turn) => turn.agentId === agentId)?.repeatsFromMessageId;
      const turn = { workspaceId, conversationId, agentId, userMessageId: messageId, repeatsFromMessageId, ordinal };
      await deps.queue.enqueue({ ...turn, userId }, tx);
    }
  }

  /** Resumes the runtime in the same transaction if it is suspended. */
  async function revise(
    context: MessageContext,
    run: (withdrawal: Withdrawal, tx: Transaction) => Promise<void>,
    before: (tx: Transaction) => Promise<void> = async () => undefined,
  ): Promise<void> {
    await withdraw(context, run, async (tx) => {
      await before(tx);
      await messages.prepare(context.workspaceId, tx);
    });
  }

  async function view(messageId: string, workspaceId: string): Promise<MessageData> {
    return messageView(await find(messageId, workspaceId), createViewContext());
  }

  /** Deletes everything that the turn of an answer wrote, and queues another turn. @returns the user message id */
  async function replace(
    userId: string,
    reply: MessageRow,
    { turns, end, remove }: Withdrawal,
    tx: Transaction,
  ): Promise<string> {
    const { id, workspace_id: workspaceId, conversation_id: conversationId } = reply;
    const turn = turns.find(({ replyMessageId }) => replyMessageId === id);
    if (turn === undefined) {
      await find(id, workspaceId, tx);
      throw new ApiError('message_not_an_answer');
    }
    if (isUnfinished(turn)) throw new ApiError('turn_running');
    if (await isAgentDeleted(tx, turn.agentId)) throw new ApiError('agent_deleted');
    const userMessage = { messageId: turn.lastMessageId, workspaceId, conversationId };
    const written = await findMessagesWrittenBy(tx, [turn.id]);
    await end([turn], written);
    await requireLatest(userMessage, tx);
    if (!(await remove(written)).includes(id)) throw new ApiError('message_not_found');
    await deleteTurns(tx, [turn.id]);
    await events.append({ workspaceId, type: 'message.updated', subjectId: userMessage.messageId }, tx);
    await updateMessage(tx, userMessage.messageId, { status: 'sent', errorCode: null, answeredWith: null });
    await enqueueTurns({ ...userMessage, agentIds: [turn.agentId], userId }, [turn], tx);
    return userMessage.messageId;
  }

  /** The edited message, validated like a new one. */
  async function checked(row: MessageRow, { userId }: RevisedMessage, body: EditMessageBody) {
    const draft = { content: body.content, mentions: body.mentions, attachments: body.attachments ?? row.attachments };
    const text = checkedText(draft);
    const [workspaceId, conversationId] = [row.workspace_id, row.conversation_id];
    const found = await deps.findSendContext({ userId, workspaceId, conversationId, localId: undefined });
    if (found?.conversation === undefined) throw new ApiError('message_not_found');
    const mentions: Mention[] = checkedMentions(draft, text, found.members);
    return { text, mentions, agentIds: answeringAgents(found.conversation, mentions, found.members) };
  }

  return {
    async regenerate({ userId, workspaceId, messageId }) {
      await access.require(userId, workspaceId);
      const reply = await find(messageId, workspaceId);
      await deps.rates.send(userId);
      let userMessageId = '';
      const context = { messageId, workspaceId, conversationId: reply.conversation_id };
      await revise(context, async (withdrawal, tx) => {
        userMessageId = await replace(userId, reply, withdrawal, tx);
      });
      return view(userMessageId, workspaceId);
    },

    async edit(target, body) {
      const { userId, workspaceId, messageId } = target;
      await access.require(userId, workspaceId);
      const row = await find(messageId, workspaceId);
      if (row.role !== 'user') throw new ApiError('message_not_editable');
      const context = { messageId, workspaceId, conversationId: row.conversation_id };
      const { agentIds, text, mentions } = await checked(row, target, body);
      await deps.rates.send(userId);
      let attachments: StoredAttachment[] | undefined;
      const resolve = async (tx: Transaction): Promise<void> => {
        const uploads = body.attachments?.map(({ id }) => id);
        attachments = uploads === undefined ? undefined : await deps.attachments.resolve(userId, uploads, tx);
      };
      await revise(
        context,
        async ({ turns, end, remove }, tx) => {
          const ids = turns.map(({ id }) => id);
          const written = await findMessagesWrittenBy(tx, ids);
          await end(turns, written);
          await requireLatest(context, tx);
          await remove(written);
          await deleteTurns(tx, ids);
          const kept = attachments === undefined ? {} : { attachments };
          await editUserMessage(tx, messageId, { text, mentions, ...kept });
          if (attachments !== undefined) await deps.attachments.attach(messageId, attachments, tx);
          await enqueueTurns({ ...context, agentIds, userId }, turns, tx);
        },
        resolve,
      );
      return view(messageId, workspaceId);
    },
  };
}
