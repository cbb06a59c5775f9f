import { type AgentDetails, type AgentSummary, ApiError, type MessagePage, type PageQuery } from '@uswarm/contract';
import type { CursorCodec } from '../../records/cursor.js';
import type { CreateViewContext } from '../../chat/message-view.js';
import { type MessageList, readPage } from '../../chat/page.js';
import type { WorkspaceAccess } from '../workspace-access.js';
import type { AgentAccess } from './agent-access.js';
import { pageAgentHistory, hasAgentHistory } from './agent-history.store.js';
import { agentDetails, agentSummary } from '../../records/agent-view.js';
import { listAgents, findAgent, findAgentDetails } from '../../records/agents.store.js';
import type { Database } from '../../platform/database/database.js';

export interface AgentServiceDeps {
  database: Database;
  workspaces: WorkspaceAccess;
  access: AgentAccess;
  cursors: CursorCodec;
  memoryLimit: number;
  createViewContext: CreateViewContext;
}

export interface AgentService {
  /** @throws ApiError `workspace_not_found` */
  list(userId: string, workspaceId: string): Promise<AgentSummary[]>;
  /** @throws ApiError `agent_not_found` */
  get(userId: string, agentId: string): Promise<AgentSummary>;
  /** @throws ApiError `agent_not_found` */
  details(userId: string, agentId: string): Promise<AgentDetails>;
  /** Includes all conversations with this agent. @throws ApiError `agent_not_found`, `cursor_invalid` */
  history(userId: string, agentId: string, query: PageQuery): Promise<MessagePage>;
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw new ApiError('agent_not_found');
  return row;
}

export function createAgentService(deps: AgentServiceDeps): AgentService {
  const { database, workspaces, access, cursors, memoryLimit, createViewContext } = deps;
  return {
    async list(userId, workspaceId) {
      await workspaces.require(userId, workspaceId);
      const rows = await listAgents(database, workspaceId);
      const viewContext = createViewContext();
      return rows.map((row) => agentSummary(row, viewContext));
    },

    get: async (userId, agentId) =>
      agentSummary(found(await findAgent(database, userId, agentId)), createViewContext()),

    details: async (userId, agentId) =>
      agentDetails(found(await findAgentDetails(database, userId, agentId)), memoryLimit, createViewContext()),

    async history(userId, agentId, query) {
      await access.require(userId, agentId);
      // Agent ids and conversation ids differ, so a cursor from one list is invalid for the other.
      const messages: MessageList = {
        page: (id, pageDirection, position, limit) => pageAgentHistory(database, id, pageDirection, position, limit),
        hasAny: (id, pageDirection, position) => hasAgentHistory(database, id, pageDirection, position),
      };
      return readPage({ messages, cursors }, query, { userId, conversationId: agentId }, createViewContext());
    },
  };
}
