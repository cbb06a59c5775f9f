import type { UpdateBudgetBody } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { BudgetUse, StoredBudget } from './budget.js';
import { setBudget } from '../records/workspace-rows.js';

/** @returns undefined if the user does not own the workspace */
export async function findBudget(
  db: Database,
  workspaceId: string,
  ownerId: string,
  period: string,
): Promise<(StoredBudget & BudgetUse) | undefined> {
  const { rows } = await sql<StoredBudget & BudgetUse>`
    SELECT w.monthly_cost_micros, w.monthly_tokens, coalesce(p.cost_micros, 0) AS cost,
      coalesce(p.prompt_tokens + p.completion_tokens, 0) AS tokens
    FROM workspaces w
    LEFT JOIN usage_periods p ON p.user_id = w.owner_id AND p.workspace_id = w.id AND p.period = ${period}
    WHERE w.id = ${workspaceId} AND w.owner_id = ${ownerId}`.execute(db);
  return rows[0];
}

/** Changes the limits that are present, if the user owns the workspace. */
export async function updateBudget(
  db: Database,
  workspaceId: string,
  ownerId: string,
  { monthly_cost_micros, monthly_tokens }: UpdateBudgetBody,
): Promise<void> {
  const limits = {
    ...(monthly_cost_micros === undefined ? {} : { monthly_cost_micros }),
    ...(monthly_tokens === undefined ? {} : { monthly_tokens }),
  };
  if (Object.keys(limits).length === 0) return;
  await setBudget(db, { id: workspaceId, ownerId }, limits);
}
