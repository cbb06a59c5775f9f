import { randomUUIDv7 } from 'node:crypto';
import {
  ApiError,
  type Conversation,
  type ConversationPage,
  type CreateConversationBody,
  type UpdateConversationBody,
} from '@uswarm/contract';
import type { WithTransaction, Database } from '../platform/database/database.js';
import { listMembers } from '../records/agents.store.js';
import type { EventLog } from '../records/event-log.js';
import { type Idempotency, type KeyOwner, keyWithoutResult } from '../platform/idempotency/idempotency.service.js';
import type { CreateViewContext } from './message-view.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import type { ConversationCursorCodec } from './conversation-cursor.js';
import { type ConversationQuery, readConversations } from './conversation-page.js';
import { conversationView } from './conversation-view.js';
import { findConversation, countConversations, findFirstText } from './conversations.store.js';
import { type NewTitle, insertConversation, setMuted, setTitle } from '../records/conversation-rows.js';
import { requiredLine } from '../platform/http/visible-text.js';
import { titleOf } from '../records/title.js';
import * as conversationRecords from './conversations.store.js';

export interface ConversationServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  events: Pick<EventLog, 'append'>;
  access: WorkspaceAccess;
  idempotency: Pick<Idempotency, 'once'>;
  conversationCursors: ConversationCursorCodec;
  /** Maximum number of conversations per workspace. */
  perWorkspace: number;
  createViewContext: CreateViewContext;
}

export interface ConversationService {
  /** @throws ApiError `workspace_not_found`, `cursor_invalid` */
  list(userId: string, workspaceId: string, query: ConversationQuery): Promise<ConversationPage>;
  /** @throws ApiError `conversation_not_found` */
  get(userId: string, workspaceId: string, conversationId: string): Promise<Conversation>;
  /**
   * @param id default: a new one. A conversation that a concurrent request has created with it is returned
   * @throws ApiError `agent_id_required`, `agent_id_not_allowed`, `agent_not_found`, `conversation_limit_reached`,
   *   `idempotency_key_reused`
   */
  create(owner: KeyOwner, workspaceId: string, body: CreateConversationBody, id?: string): Promise<Conversation>;
  /** Absent fields are unchanged. @throws ApiError `conversation_not_found` */
  update(
    userId: string,
    workspaceId: string,
    conversationId: string,
    patch: UpdateConversationBody,
  ): Promise<Conversation>;
}

/** Rolls back the event. */
class AlreadyCreated extends Error {
  override name = 'AlreadyCreated';
}

export function createConversationService(deps: ConversationServiceDeps): ConversationService {
  const { withTransaction, database, events, access, createViewContext } = deps;

  async function checkedAgent(workspaceId: string, { type, agent_id }: CreateConversationBody): Promise<string | null> {
    const agentId = agent_id ?? null;
    if (type === 'swarm' && agentId !== null) throw new ApiError('agent_id_not_allowed');
    if (type === 'agent' && agentId === null) throw new ApiError('agent_id_required');
    if (agentId === null) return null;
    const members = await listMembers(database, workspaceId);
    if (!members.some(({ id }) => id === agentId)) throw new ApiError('agent_not_found');
    return agentId;
  }

  async function read(workspaceId: string, conversationId: string): Promise<Conversation> {
    const row = await findConversation(database, workspaceId, conversationId);
    if (row === undefined) throw new ApiError('conversation_not_found');
    return conversationView(row, createViewContext());
  }

  return {
    async list(userId, workspaceId, query) {
      await access.require(userId, workspaceId);
      return readConversations(
        { database, store: conversationRecords, cursors: deps.conversationCursors },
        query,
        { userId, workspaceId },
        createViewContext(),
      );
    },

    async get(userId, workspaceId, conversationId) {
      await access.require(userId, workspaceId);
      return read(workspaceId, conversationId);
    },

    async create(owner, workspaceId, body, newId = randomUUIDv7()) {
      await access.require(owner.userId, workspaceId);
      const agentId = await checkedAgent(workspaceId, body);
      const title = typeof body.title === 'string' ? requiredLine('title', body.title) : undefined;
      const conversation = { workspaceId, type: body.type, agentId, title };
      const request = { ...owner, operation: 'createConversation', content: conversation } as const;
      const id = await deps.idempotency.once(request, async (claim) => {
        const creation = withTransaction(async (tx) => {
          await claim(newId, tx);
          const rev = await events.append({ workspaceId, type: 'conversation.new', subjectId: newId }, tx);
          // Before the count: the conversation that exists may be the last one that is allowed.
          if (!(await insertConversation(tx, { ...conversation, id: newId, rev }))) throw new AlreadyCreated();
          if ((await countConversations(tx, workspaceId)) > deps.perWorkspace) {
            throw new ApiError('conversation_limit_reached');
          }
        });
        await creation.catch((error: unknown) => {
          if (!(error instanceof AlreadyCreated)) throw error;
        });
        return newId;
      });
      const row = await findConversation(database, workspaceId, id);
      if (row === undefined) throw keyWithoutResult();
      return conversationView(row, createViewContext());
    },

    async update(userId, workspaceId, conversationId, { title, muted }) {
      await access.require(userId, workspaceId);
      const before = await read(workspaceId, conversationId);
      if (title === undefined && (muted === undefined || muted === before.muted)) return before;
      const text = typeof title === 'string' ? requiredLine('title', title) : null;
      await withTransaction(async (tx) => {
        await events.append({ workspaceId, type: 'conversation.updated', subjectId: conversationId }, tx);
        if (muted !== undefined) await setMuted(tx, conversationId, muted);
        if (title === undefined) return;
        const first = text === null ? titleOf((await findFirstText(tx, conversationId)) ?? '') : undefined;
        const named: NewTitle =
          text !== null
            ? { text, source: 'user' }
            : { text: first ?? null, source: first === undefined ? null : 'first_message' };
        if (!(await setTitle(tx, workspaceId, conversationId, named))) {
          throw new ApiError('conversation_not_found');
        }
      });
      return read(workspaceId, conversationId);
    },
  };
}
