import { ApiError } from '@uswarm/contract';
import type { Database } from '../../platform/database/database.js';
import { isAgentOwnedBy } from '../../records/agents.store.js';

/** Other users' agents count as not found. */
export interface AgentAccess {
  /** @throws ApiError `agent_not_found` */
  require(userId: string, agentId: string): Promise<void>;
}

export function createAgentAccess(database: Database): AgentAccess {
  return {
    async require(userId, agentId) {
      if (!(await isAgentOwnedBy(database, agentId, userId))) throw new ApiError('agent_not_found');
    },
  };
}
