import type { AgentData, AgentDetails, AgentRole, AgentSkill, AgentSummary } from '@uswarm/contract';
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
  silent_since: Date | null;
}

/** An agent with what only its details show. */
export interface AgentDetailsRow extends AgentRow {
  workspace_id: string;
  description: string;
  skills: string[];
  sort_order: number;
  created_at: Date;
  updated_at: Date | null;
  /** How many it wrote. */
  messages: number;
  /** How many it has. */
  memories: number;
}

/** What a view of an agent needs besides the row. */
export interface AgentShowing {
  now: Date;
  /** The URL of the avatar that agents with this slug have by default. */
  avatar: (slug: string) => string;
}

const avatarOf = ({ avatar_url: own, slug }: AgentRow, { avatar }: AgentShowing): string =>
  own === '' ? avatar(slug) : own;

function statusOf(row: AgentRow, now: Date) {
  return agentStatus(row.activity, { phase: row.phase ?? 'Pending', silentSince: row.silent_since }, now);
}

/** spec: orchestrator §2.8 */
export function agentSummary(row: AgentRow, showing: AgentShowing): AgentSummary {
  const { id, name, role, slug } = row;
  return { id, name, role, slug, avatar: avatarOf(row, showing), status: agentRouteStatus(statusOf(row, showing.now)) };
}

/** Whole percent that say 0 only of nothing, and 100 only where nothing more fits. */
function usedPercent(used: number, limit: number): number {
  if (used === 0) return 0;
  return Math.min(100, Math.max(1, Math.floor((used * 100) / limit)));
}

/** `memoryLimit` is how many memories an agent may have. spec: orchestrator §2.8 */
export function agentDetails(row: AgentDetailsRow, memoryLimit: number, showing: AgentShowing): AgentDetails {
  const { id, workspace_id, name, role, slug, description, sort_order, messages, memories } = row;
  return {
    id,
    workspace_id,
    name,
    role,
    slug,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at?.toISOString() ?? null,
    description,
    avatar_url: avatarOf(row, showing),
    status: agentRouteStatus(statusOf(row, showing.now)),
    sort_order,
    // They come from the configuration, which is checked when it is read.
    skills: row.skills as AgentSkill[],
    stats: { total_messages: messages, memory_used_pct: usedPercent(memories, memoryLimit) },
  };
}

/** spec: orchestrator §2.10 */
export function agentData(row: AgentRow, showing: AgentShowing): AgentData {
  const { id, name, slug } = row;
  return {
    id,
    name,
    role: row.kind,
    slug,
    avatar: avatarOf(row, showing),
    status: agentDataStatus(statusOf(row, showing.now)),
  };
}
