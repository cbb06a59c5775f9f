import { randomUUIDv7 } from 'node:crypto';
import { ApiError, type Conversation, type CreateConversationBody } from '@uswarm/contract';
import type { Transact } from '../../database/database.js';
import type { AgentStore } from '../agents/agents.store.js';
import type { EventStore } from '../events/events.store.js';
import type { Show } from '../messages/message-view.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import { conversationView } from './conversation-view.js';
import type { ConversationStore } from './conversations.store.js';

export interface ConversationServiceDeps {
  transaction: Transact;
  store: Pick<ConversationStore, 'insert' | 'list' | 'find' | 'countUnread' | 'markRead'>;
  agents: Pick<AgentStore, 'members'>;
  events: Pick<EventStore, 'append'>;
  access: WorkspaceAccess;
  show: Show;
  /** Called after a commit that left something to publish. */
  committed: () => void;
}

export interface ConversationService {
  list(userId: string, workspaceId: string): Promise<Conversation[]>;
  /** @throws ApiError `conversation_not_found` */
  get(userId: string, workspaceId: string, conversationId: string): Promise<Conversation>;
  /** @throws ApiError `agent_id_required`, `agent_id_not_allowed`, `agent_not_found` */
  create(userId: string, workspaceId: string, body: CreateConversationBody): Promise<Conversation>;
  /** Moves the read position behind everything that there is. @throws ApiError `conversation_not_found` */
  markRead(userId: string, workspaceId: string, conversationId: string): Promise<void>;
}

export function createConversationService(deps: ConversationServiceDeps): ConversationService {
  const { transaction, store, agents, events, access, show } = deps;

  async function checkedAgent(workspaceId: string, { type, agent_id }: CreateConversationBody): Promise<string | null> {
    const agentId = agent_id ?? null;
    if (type === 'swarm' && agentId !== null) throw new ApiError('agent_id_not_allowed');
    if (type === 'agent' && agentId === null) throw new ApiError('agent_id_required');
    if (agentId === null) return null;
    const members = await agents.members(workspaceId);
    if (!members.some(({ id }) => id === agentId)) throw new ApiError('agent_not_found');
    return agentId;
  }

  async function read(workspaceId: string, conversationId: string): Promise<Conversation> {
    const row = await store.find(workspaceId, conversationId);
    if (row === undefined) throw new ApiError('conversation_not_found');
    return conversationView(row, show());
  }

  return {
    async list(userId, workspaceId) {
      await access.require(userId, workspaceId);
      const showing = show();
      return (await store.list(workspaceId)).map((row) => conversationView(row, showing));
    },

    async get(userId, workspaceId, conversationId) {
      await access.require(userId, workspaceId);
      return read(workspaceId, conversationId);
    },

    async create(userId, workspaceId, body) {
      await access.require(userId, workspaceId);
      const agentId = await checkedAgent(workspaceId, body);
      const id = randomUUIDv7();
      await transaction(async (tx) => {
        await store.insert({ id, workspaceId, type: body.type, agentId }, tx);
        await events.append({ workspaceId, type: 'conversation.new', subjectId: id }, tx);
      });
      deps.committed();
      return read(workspaceId, id);
    },

    async markRead(userId, workspaceId, conversationId) {
      await access.require(userId, workspaceId);
      const unread = await store.countUnread(workspaceId, conversationId);
      if (unread === undefined) throw new ApiError('conversation_not_found');
      if (unread === 0) return;
      await transaction(async (tx) => {
        // Its seq is the position: what has a lower one is committed, and what comes has a higher one.
        const seq = await events.append({ workspaceId, type: 'conversation.updated', subjectId: conversationId }, tx);
        if (!(await store.markRead(conversationId, seq, tx))) throw new ApiError('conversation_not_found');
      });
      deps.committed();
    },
  };
}
