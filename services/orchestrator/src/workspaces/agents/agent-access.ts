import { ApiError } from '@uswarm/contract';

/** Other users' agents count as not found. */
export interface AgentAccess {
  /** @throws ApiError `agent_not_found` */
  require(userId: string, agentId: string): Promise<void>;
}

export function createAgentAccess(store: {
  isOwnedBy(agentId: string, userId: string): Promise<boolean>;
}): AgentAccess {
  return {
    async require(userId, agentId) {
      if (!(await store.isOwnedBy(agentId, userId))) throw new ApiError('agent_not_found');
    },
  };
}
