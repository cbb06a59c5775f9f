import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { StoredPlan } from './plans.js';
import type { StoredBudget } from './budget.js';

export interface Used {
  prompt_tokens: number;
  completion_tokens: number;
  requests: number;
}

export interface UserUsage extends StoredPlan, Used {}

export interface WorkspaceUsageRow extends StoredPlan, StoredBudget, Used {
  /** Cost in the workspace, in micro US dollars. */
  cost_micros: number;
  /** Tokens in all the owner's workspaces, including deleted ones. */
  user_tokens: number;
}

export interface RunningTurns {
  user: number;
  workspace: number;
}

export const USED_COLUMNS = sql`
  used.cost_micros, used.prompt_tokens, used.completion_tokens, used.requests, used.user_tokens`;

/** A period's usage for user `u` and workspace `w`, to join as LATERAL `used`. */
export const usedIn = (period: string): RawBuilder<unknown> => sql`(
  SELECT coalesce(sum(p.cost_micros) FILTER (WHERE p.workspace_id = w.id), 0)::bigint AS cost_micros,
    coalesce(sum(p.prompt_tokens) FILTER (WHERE p.workspace_id = w.id), 0)::bigint AS prompt_tokens,
    coalesce(sum(p.completion_tokens) FILTER (WHERE p.workspace_id = w.id), 0)::bigint AS completion_tokens,
    coalesce(sum(p.requests) FILTER (WHERE p.workspace_id = w.id), 0)::bigint AS requests,
    coalesce(sum(p.prompt_tokens + p.completion_tokens), 0)::bigint AS user_tokens
  FROM usage_periods p WHERE p.user_id = u.id AND p.period = ${period}
)`;

const USAGE_COLUMNS = sql`
  u.plan_code, u.plan_expires_at, w.monthly_cost_micros, w.monthly_tokens, ${USED_COLUMNS}`;

const workspaceUsage = (period: string): RawBuilder<unknown> => sql`
  workspaces w JOIN users u ON u.id = w.owner_id CROSS JOIN LATERAL ${usedIn(period)} used`;

/** The usage and the number of running turns. Both stay the same while the transaction has the owner's usage lock. */
export async function findUsageOfRunning(
  db: Database,
  workspaceId: string,
  period: string,
): Promise<(WorkspaceUsageRow & { running: RunningTurns }) | undefined> {
  const { rows } = await sql<WorkspaceUsageRow & { running_user: number; running_workspace: number }>`
    SELECT ${USAGE_COLUMNS}, running."user" AS running_user, running.workspace AS running_workspace
    FROM ${workspaceUsage(period)} CROSS JOIN LATERAL (
      SELECT count(*) AS "user", count(*) FILTER (WHERE t.workspace_id = w.id) AS workspace
      FROM workspaces own JOIN turns t ON t.workspace_id = own.id AND t.status = 'running'
      WHERE own.owner_id = w.owner_id
    ) running
    WHERE w.id = ${workspaceId}`.execute(db);
  return rows.map(({ running_user: user, running_workspace: workspace, ...used }) => ({
    ...used,
    running: { user, workspace },
  }))[0];
}

export async function findUsageOfUser(db: Database, userId: string, period: string): Promise<UserUsage | undefined> {
  const { rows } = await sql<UserUsage>`
    SELECT u.plan_code, u.plan_expires_at,
      coalesce(sum(p.prompt_tokens), 0)::bigint AS prompt_tokens,
      coalesce(sum(p.completion_tokens), 0)::bigint AS completion_tokens,
      coalesce(sum(p.requests), 0)::bigint AS requests
    FROM users u LEFT JOIN usage_periods p ON p.user_id = u.id AND p.period = ${period}
    WHERE u.id = ${userId}
    GROUP BY u.id`.execute(db);
  return rows[0];
}

/** @param ownerId if set, the workspace must have this owner */
export async function findUsageOfWorkspace(
  db: Database,
  workspaceId: string,
  period: string,
  ownerId?: string,
): Promise<WorkspaceUsageRow | undefined> {
  const owned = ownerId === undefined ? sql`true` : sql`w.owner_id = ${ownerId}`;
  const { rows } = await sql<WorkspaceUsageRow>`
    SELECT ${USAGE_COLUMNS} FROM ${workspaceUsage(period)} WHERE w.id = ${workspaceId} AND ${owned}`.execute(db);
  return rows[0];
}
