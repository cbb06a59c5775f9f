import { ApiError } from '@uswarm/contract';

/** Whether an agent is in a workspace of the caller's; other people's look exactly like absent ones. */
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
