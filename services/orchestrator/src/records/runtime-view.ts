import type { AgentDataStatus, AgentRouteStatus, AgentStatus, RuntimePhase, RuntimeStatus } from '@uswarm/contract';
import type { AgentActivity, InternalPhase } from '../platform/database/schema.js';

/** How the API shows a runtime's state. Pure functions. */

/** A runtime that has not answered `Identify` for this long counts as offline. */
const OFFLINE_AFTER_MS = 60_000;

export interface RuntimeState {
  phase: InternalPhase;
  /** Null while a Ready runtime responds. */
  silentSince: Date | null;
}

export interface RuntimeView {
  status: RuntimeStatus;
  phase: RuntimePhase;
}

const VIEWS: Record<InternalPhase, RuntimeView> = {
  Pending: { status: 'provisioning', phase: 'Pending' },
  Progressing: { status: 'provisioning', phase: 'Progressing' },
  Ready: { status: 'ready', phase: 'Ready' },
  Suspended: { status: 'offline', phase: 'Pending' },
  Error: { status: 'failed', phase: 'Error' },
  Deleting: { status: 'offline', phase: 'Pending' },
};

export function viewRuntime({ phase, silentSince }: RuntimeState, now: Date): RuntimeView {
  const view = VIEWS[phase];
  const silent = silentSince !== null && now.getTime() - silentSince.getTime() > OFFLINE_AFTER_MS;
  return phase === 'Ready' && silent ? { ...view, status: 'offline' } : view;
}

/** Limits an agent's status by its runtime's state. */
export function agentStatus(activity: AgentActivity, runtime: RuntimeState, now: Date): AgentStatus {
  const { status } = viewRuntime(runtime, now);
  if (status === 'ready') return activity;
  if (status === 'failed') return 'error';
  return status === 'provisioning' ? 'pending' : 'offline';
}

const WORKING: ReadonlySet<AgentStatus> = new Set(['reading', 'thinking', 'writing']);

/** Coarser, for agent routes. */
export function agentRouteStatus(status: AgentStatus): AgentRouteStatus {
  return WORKING.has(status) ? 'busy' : (status as AgentRouteStatus);
}

export function agentDataStatus(status: AgentStatus): AgentDataStatus {
  if (WORKING.has(status) || status === 'pending') return 'busy';
  return status === 'online' ? 'online' : 'offline';
}
