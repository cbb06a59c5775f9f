import {
  ApiError,
  type ListedMessage,
  type MessageData,
  type MessageDraft,
  type MessagePage,
  type MessageListQuery,
} from '@uswarm/contract';
import type { WithTransaction } from '../../database/database.js';
import type { ConversationStore } from '../conversations/conversations.store.js';
import { requireConversation } from '../conversations/require-conversation.js';
import type { RateLimits } from '../rate-limits/rate-limits.js';
import type { Attachments } from '../uploads/attachments.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import type { CursorCodec } from './cursor.js';
import { answeringAgents, bodyHash, checkedMentions, checkedText } from './draft.js';
import { listedMessageView, type MessageRow, messageView, type CreateViewContext } from './message-view.js';
import type { MessageStore, SendContext, SendTarget } from './messages.store.js';
import { type PageOptions, readPage } from './page.js';
import type { MessageIntake } from './message-intake.js';

export interface MessageServiceDeps {
  withTransaction: WithTransaction;
  store: Pick<MessageStore, 'find' | 'findSendContext' | 'page' | 'hasAny'>;
  conversations: Pick<ConversationStore, 'findAccess'>;
  intake: MessageIntake;
  rates: Pick<RateLimits, 'send'>;
  attachments: Pick<Attachments, 'resolve'>;
  access: WorkspaceAccess;
  cursors: CursorCodec;
  createViewContext: CreateViewContext;
}

export interface MessageService {
  /** @throws ApiError `workspace_not_found`, `conversation_not_found`, `message_not_found`, `cursor_invalid` */
  list(userId: string, workspaceId: string, conversationId: string, query: MessageListQuery): Promise<MessagePage>;
  /** One message as a list shows it. @throws ApiError `workspace_not_found`, `message_not_found` */
  get(userId: string, workspaceId: string, messageId: string): Promise<ListedMessage>;
  /**
   * Stores a message, queues its turns and resumes the runtime in one transaction. A retry with the same `local_id` and
   * body returns the first result; another body is rejected with `local_id_reused`.
   */
  send(target: SendTarget, draft: MessageDraft): Promise<MessageData>;
}

const FOREIGN_KEY_VIOLATION = '23503';

export function createMessageService(deps: MessageServiceDeps): MessageService {
  const { withTransaction, store, conversations, intake, access, createViewContext } = deps;

  /** The start of a page that is requested by `around`, `after` or `before`. */
  async function startOf(
    conversationId: string,
    { around, after, before }: MessageListQuery,
  ): Promise<PageOptions['start']> {
    const id = around ?? after ?? before;
    if (id === undefined) return undefined;
    const [row] = await store.find([id]);
    if (row?.conversation_id !== conversationId) throw new ApiError('message_not_found');
    return { row, pageDirection: around !== undefined ? 'around' : after !== undefined ? 'newer' : 'older' };
  }

  async function view(id: string): Promise<MessageData> {
    const [row] = await store.find([id]);
    // The conversation was deleted after the message was stored.
    if (row === undefined) throw new ApiError('conversation_not_found');
    return messageView(row, createViewContext());
  }

  /** Returns the result of an earlier request with the same local id and body. @throws ApiError `local_id_reused` */
  async function findDuplicate(sent: SendContext['sent'], hash: Buffer): Promise<MessageData | undefined> {
    if (sent === undefined) return undefined;
    if (sent.bodyHash?.equals(hash) !== true) throw new ApiError('local_id_reused');
    return view(sent.id);
  }

  async function storeNew(
    { userId, workspaceId, conversationId, localId }: SendTarget,
    { conversation, members }: SendContext,
    draft: MessageDraft,
    hash: Buffer,
  ): Promise<MessageRow> {
    if (conversation === undefined) throw new ApiError('conversation_not_found');
    const text = checkedText(draft);
    const mentions = checkedMentions(draft, text, members);
    const agentIds = answeringAgents(conversation, mentions, members);
    const uploads = draft.attachments.map(({ id }) => id);
    return withTransaction(async (tx) => {
      // Uploads first: a long-lived lock on an upload must not wait for a lock taken here.
      const attachments = await deps.attachments.resolve(userId, uploads, tx);
      await intake.prepare(workspaceId, tx);
      const context = { workspaceId, conversationId, userId, agentIds };
      const newMessage = { ...context, text, bodyHash: hash, mentions, attachments };
      return intake.create({ ...newMessage, ...(localId === undefined ? {} : { localId }) }, tx);
    });
  }

  return {
    async list(userId, workspaceId, conversationId, query) {
      await requireConversation(conversations, { userId, workspaceId, conversationId });
      const start = await startOf(conversationId, query);
      const where = { userId, conversationId };
      return readPage({ store, cursors: deps.cursors }, query, where, createViewContext(), { start, resumable: true });
    },

    async get(userId, workspaceId, messageId) {
      await access.require(userId, workspaceId);
      const [row] = await store.find([messageId]);
      if (row?.workspace_id !== workspaceId) throw new ApiError('message_not_found');
      return listedMessageView(row, createViewContext());
    },

    async send(target, draft) {
      const context = await store.findSendContext(target);
      if (context === undefined) throw new ApiError('workspace_not_found');
      const hash = bodyHash(target.conversationId, draft);
      const earlier = await findDuplicate(context.sent, hash);
      if (earlier !== undefined) return earlier;
      try {
        // After the lookup, so that a retry for a stored message does not count.
        await deps.rates.send(target.userId);
        return messageView(await storeNew(target, context, draft, hash), createViewContext());
      } catch (error) {
        // If a concurrent request stored the same message, its result is returned instead of any error, such as the
        // unique violation or a full queue.
        const firstMessage = await findDuplicate((await store.findSendContext(target))?.sent, hash);
        if (firstMessage !== undefined) return firstMessage;
        // The conversation was deleted in the meantime.
        if ((error as { code?: unknown }).code === FOREIGN_KEY_VIOLATION) throw new ApiError('conversation_not_found');
        throw error;
      }
    },
  };
}
