import type { SubscriptionsAnswer } from '@uswarm/contract';

/**
 * A user's workspaces that one session knows. While the orchestrator cannot be asked, the session may subscribe to
 * them.
 */
export interface OwnedWorkspaces {
  has(workspaceId: string): boolean;
  /** Records what the orchestrator answered to a subscribe. */
  record(answer: Pick<SubscriptionsAnswer, 'accepted' | 'rejected'>): void;
  /** For the resume token. */
  list(): readonly string[];
}

/** Bounds the size of a resume token. */
const MAXIMUM = 20;

/**
 * @param known from the resume token that admitted the socket
 * @param changed called when the list differs
 */
export function createOwnedWorkspaces(known: readonly string[], changed: () => void): OwnedWorkspaces {
  let ids = known.slice(-MAXIMUM);
  return {
    has: (workspaceId) => ids.includes(workspaceId),
    record({ accepted, rejected }) {
      const refused = new Set(rejected.map(({ workspace_id }) => workspace_id));
      const added = accepted.map(({ workspace_id }) => workspace_id).filter((id) => !ids.includes(id));
      const next = [...ids.filter((id) => !refused.has(id)), ...added].slice(-MAXIMUM);
      if (next.length === ids.length && added.length === 0) return;
      ids = next;
      changed();
    },
    list: () => ids,
  };
}
