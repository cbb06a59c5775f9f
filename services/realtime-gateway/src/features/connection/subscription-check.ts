import { reachesWorkspace, requireScope, type SubscriptionsAnswer, type TokenAccess } from '@uswarm/contract';
import { isTransient } from '../../error-body.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Hubs } from '../hub/hubs.js';
import { obstacleOf, type Since } from '../hub/since.js';
import type { OwnedWorkspaces } from './owned-workspaces.js';

export interface SubscriptionCheckDeps {
  access: TokenAccess | null;
  orchestrator: Pick<OrchestratorClient, 'subscriptions'>;
  hubs: Pick<Hubs, 'use'>;
  workspaces: Pick<OwnedWorkspaces, 'has' | 'record'>;
}

/** `isFallback`: based only on this gateway's hubs. */
export type CheckedSubscriptions = SubscriptionsAnswer & { isFallback?: boolean };

/** `since` has the positions from which the client continues. */
export type SubscriptionCheck = (
  userId: string,
  workspaceIds: readonly string[],
  requestId: string,
  since: ReadonlyMap<string, Since>,
) => Promise<CheckedSubscriptions>;

/**
 * Asks the orchestrator which workspaces the user may subscribe to. While it cannot be asked, the session may subscribe
 * to the workspaces that it knows, if this gateway knows their position and is not behind the client.
 */
export function createSubscriptionCheck(deps: SubscriptionCheckDeps): SubscriptionCheck {
  const { access, orchestrator, hubs, workspaces } = deps;

  function accepted(id: string, since: Since | undefined): SubscriptionsAnswer['accepted'] {
    if (!workspaces.has(id)) return [];
    const { hub, release } = hubs.use(id);
    try {
      const { position, epoch } = hub.state;
      if (position === undefined) return [];
      // This gateway may have missed the client's events or epoch: only the orchestrator can tell.
      const isBehind =
        since !== undefined && obstacleOf(since, { seq: position, epoch, maxEvents: Infinity }) !== undefined;
      return isBehind ? [] : [{ workspace_id: id, last_seq: position, epoch }];
    } finally {
      release();
    }
  }

  async function ask(
    userId: string,
    ids: readonly string[],
    requestId: string,
    since: ReadonlyMap<string, Since>,
  ): Promise<CheckedSubscriptions> {
    try {
      const answer = await orchestrator.subscriptions(userId, ids, requestId);
      workspaces.record(answer);
      return answer;
    } catch (error) {
      const known = isTransient(error) ? ids.flatMap((id) => accepted(id, since.get(id))) : [];
      if (known.length === 0) throw error;
      const admitted = new Set(known.map(({ workspace_id }) => workspace_id));
      const others = ids.filter((id) => !admitted.has(id));
      return {
        isFallback: true,
        accepted: known,
        rejected: others.map((workspace_id) => ({ workspace_id, code: 'service_unavailable' as const })),
      };
    }
  }

  return async (userId, ids, requestId, since) => {
    requireScope(access, 'read');
    const reached = ids.filter((id) => reachesWorkspace(access, id));
    const answer = await ask(userId, reached, requestId, since);
    if (reached.length === ids.length) return answer;
    const outside = ids
      .filter((id) => !reachesWorkspace(access, id))
      .map((workspace_id) => ({ workspace_id, code: 'workspace_not_found' as const }));
    return { ...answer, rejected: [...answer.rejected, ...outside] };
  };
}
