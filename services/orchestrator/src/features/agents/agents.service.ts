import { type AgentDetails, type AgentSummary, ApiError, type MessagePage, type PageQuery } from '@uswarm/contract';
import type { CursorCodec } from '../messages/cursor.js';
import type { Show } from '../messages/message-view.js';
import { readPage } from '../messages/page.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import type { AgentAccess } from './agent-access.js';
import type { AgentHistoryStore } from './agent-history.store.js';
import { agentDetails, agentSummary } from './agent-view.js';
import type { AgentStore } from './agents.store.js';

export interface AgentServiceDeps {
  store: Pick<AgentStore, 'list' | 'find' | 'findDetails'>;
  history: AgentHistoryStore;
  workspaces: WorkspaceAccess;
  access: AgentAccess;
  cursors: CursorCodec;
  /** How many memories an agent may have. */
  memoryLimit: number;
  show: Show;
}

export interface AgentService {
  /** @throws ApiError `workspace_not_found` */
  list(userId: string, workspaceId: string): Promise<AgentSummary[]>;
  /** @throws ApiError `agent_not_found` */
  get(userId: string, agentId: string): Promise<AgentSummary>;
  /** @throws ApiError `agent_not_found` */
  details(userId: string, agentId: string): Promise<AgentDetails>;
  /** Messages of the conversations with this agent. @throws ApiError `agent_not_found`, `cursor_invalid` */
  history(userId: string, agentId: string, query: PageQuery): Promise<MessagePage>;
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw new ApiError('agent_not_found');
  return row;
}

export function createAgentService(deps: AgentServiceDeps): AgentService {
  const { store, history, workspaces, access, cursors, memoryLimit, show } = deps;
  return {
    async list(userId, workspaceId) {
      await workspaces.require(userId, workspaceId);
      const rows = await store.list(workspaceId);
      const showing = show();
      return rows.map((row) => agentSummary(row, showing));
    },

    get: async (userId, agentId) => agentSummary(found(await store.find(userId, agentId)), show()),

    details: async (userId, agentId) =>
      agentDetails(found(await store.findDetails(userId, agentId)), memoryLimit, show()),

    async history(userId, agentId, query) {
      await access.require(userId, agentId);
      // Agent ids and conversation ids differ, so a cursor of one list is invalid in the other.
      return readPage({ store: history, cursors }, query, { userId, conversationId: agentId }, show());
    },
  };
}
