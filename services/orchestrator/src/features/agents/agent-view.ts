import type { AgentData, AgentRole, AgentSummary } from '@uswarm/contract';
import type { AgentActivity, InternalPhase } from '../../database/schema.js';
import { agentDataStatus, agentRouteStatus, agentStatus } from '../runtimes/runtime-view.js';

/** The columns of an agent, and of its runtime, that the API shows. */
export interface AgentRow {
  id: string;
  name: string;
  role: string;
  kind: AgentRole;
  slug: string;
  avatar_url: string;
  activity: AgentActivity;
  phase: InternalPhase | null;
  identified_at: Date | null;
}

function statusOf(row: AgentRow, now: Date) {
  return agentStatus(row.activity, { phase: row.phase ?? 'Pending', identifiedAt: row.identified_at }, now);
}

/** spec: orchestrator §2.8 */
export function agentSummary(row: AgentRow, now: Date): AgentSummary {
  const { id, name, role, slug } = row;
  return { id, name, role, slug, avatar: row.avatar_url, status: agentRouteStatus(statusOf(row, now)) };
}

/** spec: orchestrator §2.10 */
export function agentData(row: AgentRow, now: Date): AgentData {
  const { id, name, slug } = row;
  return { id, name, role: row.kind, slug, avatar: row.avatar_url, status: agentDataStatus(statusOf(row, now)) };
}
