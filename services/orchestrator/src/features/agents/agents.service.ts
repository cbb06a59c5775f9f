import type { AgentSummary } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import { agentSummary } from './agent-view.js';
import type { AgentStore } from './agents.store.js';

export interface AgentServiceDeps {
  store: Pick<AgentStore, 'list'>;
  access: WorkspaceAccess;
  clock: Clock;
}

export interface AgentService {
  list(userId: string, workspaceId: string): Promise<AgentSummary[]>;
}

export function createAgentService({ store, access, clock }: AgentServiceDeps): AgentService {
  return {
    async list(userId, workspaceId) {
      await access.require(userId, workspaceId);
      const rows = await store.list(workspaceId);
      return rows.map((row) => agentSummary(row, clock.now()));
    },
  };
}
