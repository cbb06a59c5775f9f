import type { AgentData, AgentDetails, AgentRole, AgentSkill, AgentSummary } from '@uswarm/contract';
import type { AgentActivity, InternalPhase } from '../platform/database/schema.js';
import { agentDataStatus, agentRouteStatus, agentStatus } from './runtime-view.js';

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
  /** Absent for an agent that was selected among the present ones. */
  deleted?: boolean;
}

export interface AgentDetailsRow extends AgentRow {
  workspace_id: string;
  description: string;
  skills: string[];
  sort_order: number;
  created_at: Date;
  updated_at: Date | null;
  messages: number;
  memories: number;
}

export interface AgentViewContext {
  now: Date;
  /** Default avatar URL. */
  avatar: (slug: string) => string;
}

const avatarOf = ({ avatar_url: own, slug }: AgentRow, { avatar }: AgentViewContext): string =>
  own === '' ? avatar(slug) : own;

function statusOf(row: AgentRow, now: Date) {
  return agentStatus(row.activity, { phase: row.phase ?? 'Pending', silentSince: row.silent_since }, now);
}

/** RES-037 */
export function agentSummary(row: AgentRow, viewContext: AgentViewContext): AgentSummary {
  const { id, name, role, slug } = row;
  return {
    id,
    name,
    role,
    slug,
    avatar: avatarOf(row, viewContext),
    status: agentRouteStatus(statusOf(row, viewContext.now)),
    ...(row.deleted === true ? { deleted: true } : {}),
  };
}

/** Whole percent: 0 only if nothing is used, 100 only if the limit is reached. */
function usedPercent(used: number, limit: number): number {
  if (used === 0) return 0;
  return Math.min(100, Math.max(1, Math.floor((used * 100) / limit)));
}

/** `memoryLimit` is the maximum number of memories per agent. RES-038 */
export function agentDetails(row: AgentDetailsRow, memoryLimit: number, viewContext: AgentViewContext): AgentDetails {
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
    avatar_url: avatarOf(row, viewContext),
    status: agentRouteStatus(statusOf(row, viewContext.now)),
    sort_order,
    // Skills come from the configuration, which is validated when it is loaded.
    skills: row.skills as AgentSkill[],
    stats: { total_messages: messages, memory_used_pct: usedPercent(memories, memoryLimit) },
  };
}

/** RES-062 */
export function agentData(row: AgentRow, viewContext: AgentViewContext): AgentData {
  const { id, name, slug } = row;
  return {
    id,
    name,
    role: row.kind,
    slug,
    avatar: avatarOf(row, viewContext),
    status: agentDataStatus(statusOf(row, viewContext.now)),
  };
}
