import type { SubscriptionsAnswer } from '@uswarm/contract';
import { isTransient } from '../../error-body.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Hubs } from '../hub/hubs.js';
import type { OwnedWorkspaces } from './owned-workspaces.js';

export interface SubscriptionCheckDeps {
  orchestrator: Pick<OrchestratorClient, 'subscriptions'>;
  hubs: Pick<Hubs, 'use'>;
  workspaces: Pick<OwnedWorkspaces, 'has' | 'record'>;
}

/**
 * Asks the orchestrator which workspaces the user may subscribe to. While it cannot be asked, the session may subscribe to those that
 * it knows, if this gateway knows their position.
 */
export function createSubscriptionCheck({
  orchestrator,
  hubs,
  workspaces,
}: SubscriptionCheckDeps): OrchestratorClient['subscriptions'] {
  function accepted(id: string): SubscriptionsAnswer['accepted'] {
    if (!workspaces.has(id)) return [];
    const { hub, release } = hubs.use(id);
    try {
      const { position, epoch } = hub.state;
      return position === undefined ? [] : [{ workspace_id: id, last_seq: position, epoch }];
    } finally {
      release();
    }
  }

  return async (userId, ids, requestId) => {
    try {
      const answer = await orchestrator.subscriptions(userId, ids, requestId);
      workspaces.record(answer);
      return answer;
    } catch (error) {
      const known = isTransient(error) ? ids.flatMap(accepted) : [];
      if (known.length === 0) throw error;
      const admitted = new Set(known.map(({ workspace_id }) => workspace_id));
      const others = ids.filter((id) => !admitted.has(id));
      return {
        accepted: known,
        rejected: others.map((workspace_id) => ({ workspace_id, code: 'service_unavailable' as const })),
      };
    }
  };
}
