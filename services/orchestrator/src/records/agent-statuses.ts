import type { Clock } from '@uswarm/service-kit';
import type { Transaction } from '../platform/database/database.js';
import { pipelined } from '../platform/database/pipelined.js';
import type { AgentActivity } from '../platform/database/schema.js';
import type { LeasedJob } from '../platform/jobs/job-store.js';
import type { LiveEvent } from '../events/event-publisher.js';
import { agentStatus } from './runtime-view.js';
import type { AgentSelection, AgentStatusStore, ChangedStatus } from './agent-status.store.js';

/** A turn that is running. */
export interface ActiveTurn {
  id: string;
  agent_id: string;
  conversation_id: string;
}

/**
 * Keeps the statuses of agents equal to what their turns imply, and publishes changes after the commit. Call a method in
 * the transaction that changes turns, contexts of turns or cards, after all other writes: agents come last in the lock order.
 */
export interface AgentStatuses {
  /** Stores what a running turn does, or renews it; null if the turn waits. */
  setActivity(turn: ActiveTurn, activity: AgentActivity | null, tx: Transaction): Promise<void>;
  /** Derives the status of the agent of a turn whose start has stored an activity and locked the agent. */
  begun(turn: ActiveTurn, tx: Transaction): Promise<void>;
  /** Derives the status of the agent of a turn whose end has locked the agent. */
  ended(turn: ActiveTurn, tx: Transaction): Promise<void>;
  /**
   * As `setActivity` for a turn that writes, in one statement that checks its lease.
   *
   * @returns undefined without the lease
   */
  showWriting(turn: ActiveTurn, job: LeasedJob, tx: Transaction): Promise<true | undefined>;
  /** Derives the status of one agent. The event names the conversation of the change, if there is one. */
  refreshAgent(agentId: string, tx: Transaction, conversationId?: string): Promise<void>;
  /** Derives the statuses of all agents of a workspace. */
  refreshWorkspace(workspaceId: string, tx: Transaction): Promise<void>;
}

export interface AgentStatusesDeps {
  store: Pick<AgentStatusStore, 'setActivity' | 'setWriting' | 'lock' | 'derive' | 'deriveActive'>;
  publish: (event: LiveEvent) => Promise<boolean>;
  clock: Clock;
}

/** Whether no contribution other than that of a running turn can matter more. */
const isForemost = (activity: AgentActivity | null): boolean => activity !== null && activity !== 'pending';

/** `expires_in_ms` is absent if the status has no end, or ends with the state of the runtime. */
export function statusEvent(changed: ChangedStatus, now: Date, conversationId?: string): LiveEvent {
  const { workspaceId, agentId, seq, activity, expiresInMs, phase, silentSince } = changed;
  const status = agentStatus(activity, { phase: phase ?? 'Pending', silentSince }, now);
  return {
    workspace_id: workspaceId,
    after_seq: seq,
    event: 'agent.status',
    payload: {
      workspace_id: workspaceId,
      ...(conversationId === undefined ? {} : { conversation_id: conversationId }),
      agent_id: agentId,
      status,
      ...(expiresInMs === null || status !== activity ? {} : { expires_in_ms: expiresInMs }),
    },
  };
}

export function createAgentStatuses({ store, publish, clock }: AgentStatusesDeps): AgentStatuses {
  /** Publishing is not awaited: a slow bus must not slow down a turn. */
  function publishLater(changed: readonly ChangedStatus[], conversationId: string | undefined, tx: Transaction): void {
    if (changed.length === 0) return;
    tx.afterCommit(() => {
      for (const status of changed) void publish(statusEvent(status, clock.now(), conversationId));
    });
  }

  /** The status is derived by a statement after the lock, which sees all that the transactions before it committed. */
  async function refresh(
    selection: AgentSelection,
    conversationId: string | undefined,
    tx: Transaction,
  ): Promise<void> {
    const [, changed] = await pipelined(tx, (sender) => [
      store.lock(selection, sender),
      store.derive(selection, sender),
    ]);
    publishLater(changed, conversationId, tx);
  }

  return {
    async setActivity({ id, agent_id: agentId, conversation_id: conversationId }, activity, tx) {
      const [, changed] = await pipelined(tx, (sender) => [
        store.setActivity(id, activity, sender),
        isForemost(activity) ? store.deriveActive(agentId, sender) : store.derive({ agentId }, sender),
      ]);
      publishLater(changed, conversationId, tx);
    },

    async begun({ agent_id: agentId, conversation_id: conversationId }, tx) {
      publishLater(await store.deriveActive(agentId, tx), conversationId, tx);
    },

    async ended({ agent_id: agentId, conversation_id: conversationId }, tx) {
      publishLater(await store.derive({ agentId }, tx), conversationId, tx);
    },

    async showWriting({ conversation_id: conversationId }, job, tx) {
      const changed = await store.setWriting(job, tx);
      publishLater(changed ?? [], conversationId, tx);
      return changed && true;
    },

    refreshAgent: (agentId, tx, conversationId) => refresh({ agentId }, conversationId, tx),

    refreshWorkspace: (workspaceId, tx) => refresh({ workspaceId }, undefined, tx),
  };
}
