import { randomUUIDv7 } from 'node:crypto';
import { ApiError, type Conversation, type CreateConversationBody } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Transact } from '../../database/database.js';
import type { AgentStore } from '../agents/agents.store.js';
import type { EventStore } from '../events/events.store.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import { conversationView } from './conversation-view.js';
import type { ConversationStore } from './conversations.store.js';

export interface ConversationServiceDeps {
  transaction: Transact;
  store: Pick<ConversationStore, 'insert' | 'list' | 'find'>;
  agents: Pick<AgentStore, 'members'>;
  events: Pick<EventStore, 'append'>;
  access: WorkspaceAccess;
  clock: Clock;
  /** Called after a commit that left something to publish. */
  committed: () => void;
}

export interface ConversationService {
  list(userId: string, workspaceId: string): Promise<Conversation[]>;
  /** @throws ApiError `conversation_not_found` */
  get(userId: string, workspaceId: string, conversationId: string): Promise<Conversation>;
  /** @throws ApiError `agent_id_required`, `agent_id_not_allowed`, `agent_not_found` */
  create(userId: string, workspaceId: string, body: CreateConversationBody): Promise<Conversation>;
}

export function createConversationService(deps: ConversationServiceDeps): ConversationService {
  const { transaction, store, agents, events, access, clock } = deps;

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
    return conversationView(row, clock.now());
  }

  return {
    async list(userId, workspaceId) {
      await access.require(userId, workspaceId);
      return (await store.list(workspaceId)).map((row) => conversationView(row, clock.now()));
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
  };
}
