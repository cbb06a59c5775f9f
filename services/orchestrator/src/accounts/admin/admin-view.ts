import type { AdminUser, AdminWorkspace } from '@uswarm/contract';
import type { DeviceRow } from '../devices/devices.store.js';
import type { Plan } from '../../platform/core/catalog.js';
import type { UserUsage, WorkspaceUsageRow } from '../../metering/usage.store.js';
import type { FoundUser, FoundWorkspace } from './admin.store.js';

interface UserParts {
  user: FoundUser;
  plan: Plan;
  period: string;
  usage: UserUsage | undefined;
  workspaces: readonly { id: string; name: string; phase: string | null }[];
  devices: readonly DeviceRow[];
}

const NOTHING = { prompt_tokens: 0, completion_tokens: 0, requests: 0 };

export function adminUser({ user, plan, period, usage = { ...user, ...NOTHING }, ...rest }: UserParts): AdminUser {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    issuer: user.issuer,
    idp_uid: user.subject,
    is_banned: user.is_banned,
    plan: user.plan_code,
    plan_expires_at: user.plan_expires_at?.toISOString() ?? null,
    accepted_terms_of_service: user.accepted_terms_version,
    accepted_privacy_policy: user.accepted_privacy_version,
    created_at: user.created_at.toISOString(),
    usage: {
      period,
      tokens_used: usage.prompt_tokens + usage.completion_tokens,
      token_limit: plan.token_limit,
      request_count: usage.requests,
    },
    workspaces: rest.workspaces.map(({ id, name, phase }) => ({ id, name, runtime: phase ?? 'none' })),
    devices: rest.devices.map(({ last_seen_at, ...device }) => ({
      ...device,
      last_seen_at: last_seen_at.toISOString(),
    })),
  };
}

export function adminWorkspace(
  workspace: FoundWorkspace,
  usage: WorkspaceUsageRow,
  plan: Plan,
  period: string,
): AdminWorkspace {
  const { id, name, owner_id, agents, conversations, messages, queued, running, failed } = workspace;
  return {
    id,
    name,
    owner_id,
    created_at: workspace.created_at.toISOString(),
    runtime: {
      desired: workspace.desired ?? 'none',
      phase: workspace.phase ?? 'none',
      reason: workspace.reason ?? '',
      verified: workspace.verified ?? false,
      failures: workspace.failures ?? 0,
      identified_at: workspace.identified_at?.toISOString() ?? null,
    },
    agents,
    conversations,
    messages,
    turns: { queued, running, failed },
    usage: {
      period,
      tokens_used: usage.prompt_tokens + usage.completion_tokens,
      token_limit: plan.workspace_token_limit,
      request_count: usage.requests,
    },
  };
}
