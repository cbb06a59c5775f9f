import type { Clock } from '@uswarm/service-kit';
import type { Transaction } from '../platform/database/database.js';
import { pipelined } from '../platform/database/pipelined.js';
import type { AgentActivity } from '../platform/database/schema.js';
import type { LeasedJob } from '../platform/jobs/job-queue.js';
import type { LiveEvent } from '../events/event-publisher.js';
import { agentStatus } from './runtime-view.js';
import {
  type AgentSelection,
  type ChangedStatus,
  lockAgents,
  deriveStatuses,
  deriveActiveStatus,
  setWriting,
} from './agent-status.store.js';
import { setTurnActivity } from './turn-rows.js';

export interface ActiveTurn {
  id: string;
  agent_id: string;
  conversation_id: string;
}

/**
 * Keeps agent statuses equal to what the agents' turns imply, and publishes changes after the commit. Call a method in
 * the transaction that changes turns, their contexts or cards, after all other writes: agents come last in the lock
 * order.
 */
export interface AgentStatuses {
  /** Stores what a running turn does, or renews it; null if the turn waits. */
  setActivity(turn: ActiveTurn, activity: AgentActivity | null, tx: Transaction): Promise<void>;
  /** Derives the agent's status after the turn's start has stored an activity and locked the agent. */
  begun(turn: ActiveTurn, tx: Transaction): Promise<void>;
  /** Derives the agent's status after the turn's end has locked the agent. */
  ended(turn: ActiveTurn, tx: Transaction): Promise<void>;
  /**
   * Like `setActivity` for a turn that writes, in one statement that checks its lease.
   *
   * @returns undefined without the lease
   */
  showWriting(turn: ActiveTurn, job: LeasedJob, tx: Transaction): Promise<true | undefined>;
  /** The event names the conversation that caused the change, if there is one. */
  refreshAgent(agentId: string, tx: Transaction, conversationId?: string): Promise<void>;
  refreshWorkspace(workspaceId: string, tx: Transaction): Promise<void>;
}

export interface AgentStatusesDeps {
  publish: (event: LiveEvent) => Promise<boolean>;
  clock: Clock;
}

/** True if only another running turn's contribution can matter more. */
const isForemost = (activity: AgentActivity | null): boolean => activity !== null && activity !== 'pending';

/** `expires_in_ms` is absent if the status has no end, or ends with the runtime's state. */
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

export function createAgentStatuses({ publish, clock }: AgentStatusesDeps): AgentStatuses {
  /** Does not await publishing: a slow bus must not slow down a turn. */
  function publishLater(changed: readonly ChangedStatus[], conversationId: string | undefined, tx: Transaction): void {
    if (changed.length === 0) return;
    tx.afterCommit(() => {
      for (const status of changed) void publish(statusEvent(status, clock.now(), conversationId));
    });
  }

  /** A statement after the lock derives the status, so that it sees everything that earlier transactions committed. */
  async function refresh(
    selection: AgentSelection,
    conversationId: string | undefined,
    tx: Transaction,
  ): Promise<void> {
    const [, changed] = await pipelined(tx, (sender) => [
      lockAgents(sender, selection),
      deriveStatuses(sender, selection),
    ]);
    publishLater(changed, conversationId, tx);
  }

  return {
    async setActivity({ id, agent_id: agentId, conversation_id: conversationId }, activity, tx) {
      const [, changed] = await pipelined(tx, (sender) => [
        setTurnActivity(sender, id, activity),
        isForemost(activity) ? deriveActiveStatus(sender, agentId) : deriveStatuses(sender, { agentId }),
      ]);
      publishLater(changed, conversationId, tx);
    },

    async begun({ agent_id: agentId, conversation_id: conversationId }, tx) {
      publishLater(await deriveActiveStatus(tx, agentId), conversationId, tx);
    },

    async ended({ agent_id: agentId, conversation_id: conversationId }, tx) {
      publishLater(await deriveStatuses(tx, { agentId }), conversationId, tx);
    },

    async showWriting({ conversation_id: conversationId }, job, tx) {
      const changed = await setWriting(tx, job);
      publishLater(changed ?? [], conversationId, tx);
      return changed && true;
    },

    refreshAgent: (agentId, tx, conversationId) => refresh({ agentId }, conversationId, tx),

    refreshWorkspace: (workspaceId, tx) => refresh({ workspaceId }, undefined, tx),
  };
}
