import { ApiError, type MessageData, type MessagePage, type MessageListQuery } from '@uswarm/contract';
import type { Database } from '../platform/database/database.js';
import { pipelined } from '../platform/database/pipelined.js';
import type { ReadSource } from '../platform/database/standby-reads.js';
import { type RequestedConversation, requireConversation } from './require-conversation.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import type { CursorCodec } from '../records/cursor.js';
import { messageView, type CreateViewContext } from './message-view.js';
import { findMessages, pageMessages, hasMessages } from '../records/messages.store.js';
import { type MessageList, type PageOptions, type PositionedPage, readPage } from './page.js';
import type { SendMessage } from './send-message.js';

export interface MessageServiceDeps {
  database: Database;
  send: SendMessage;
  access: WorkspaceAccess;
  cursors: CursorCodec;
  createViewContext: CreateViewContext;
}

export interface MessageService {
  /** @throws ApiError `workspace_not_found`, `conversation_not_found`, `message_not_found`, `cursor_invalid` */
  list(
    requested: RequestedConversation,
    query: MessageListQuery,
    source: Pick<ReadSource, 'database' | 'readPosition'>,
  ): Promise<PositionedPage>;
  /** One message as a list shows it. @throws ApiError `workspace_not_found`, `message_not_found` */
  get(userId: string, workspaceId: string, messageId: string): Promise<MessageData>;
  send: SendMessage;
}

export function createMessageService(deps: MessageServiceDeps): MessageService {
  const { database, access, createViewContext } = deps;

  /** The start of a page that is requested by `around`, `after` or `before`. */
  async function startOf(
    conversationId: string,
    { around, after, before }: MessageListQuery,
    db: Database,
  ): Promise<PageOptions['start']> {
    const id = around ?? after ?? before;
    if (id === undefined) return undefined;
    const [row] = await findMessages(db, [id]);
    if (row?.conversation_id !== conversationId) throw new ApiError('message_not_found');
    return { row, pageDirection: around !== undefined ? 'around' : after !== undefined ? 'newer' : 'older' };
  }

  return {
    async list(requested, query, source) {
      const { userId, conversationId } = requested;
      const read = async (db: Database): Promise<MessagePage> => {
        const options = { start: await startOf(conversationId, query, db), resumable: true };
        const where = { userId, conversationId };
        const messages: MessageList = {
          page: (id, pageDirection, from, limit) => pageMessages(db, id, pageDirection, from, limit),
          hasAny: (id, pageDirection, from) => hasMessages(db, id, pageDirection, from),
        };
        return readPage({ messages, cursors: deps.cursors }, query, where, createViewContext(), options);
      };
      const [position, , page] = await pipelined(source.database, (db) => [
        source.readPosition(db),
        requireConversation(db, requested),
        read(db),
      ]);
      return { position, page };
    },

    async get(userId, workspaceId, messageId) {
      await access.require(userId, workspaceId);
      const [row] = await findMessages(database, [messageId]);
      if (row?.workspace_id !== workspaceId) throw new ApiError('message_not_found');
      return messageView(row, createViewContext());
    },

    send: deps.send,
  };
}
