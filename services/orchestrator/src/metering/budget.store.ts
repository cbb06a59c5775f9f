import type { UpdateBudgetBody } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { BudgetUse, StoredBudget } from './budget.js';
import { setBudget } from '../records/workspace-rows.js';

export interface BudgetStore {
  /** @returns undefined if the user does not own the workspace */
  find(workspaceId: string, ownerId: string, period: string): Promise<(StoredBudget & BudgetUse) | undefined>;
  /** Changes the limits that are present, if the user owns the workspace. */
  update(workspaceId: string, ownerId: string, limits: UpdateBudgetBody): Promise<void>;
}

export function createBudgetStore(database: Database): BudgetStore {
  return {
    async find(workspaceId, ownerId, period) {
      const { rows } = await sql<StoredBudget & BudgetUse>`
        SELECT w.monthly_cost_micros, w.monthly_tokens, coalesce(p.cost_micros, 0) AS cost,
          coalesce(p.prompt_tokens + p.completion_tokens, 0) AS tokens
        FROM workspaces w
        LEFT JOIN usage_periods p ON p.user_id = w.owner_id AND p.workspace_id = w.id AND p.period = ${period}
        WHERE w.id = ${workspaceId} AND w.owner_id = ${ownerId}`.execute(database);
      return rows[0];
    },

    async update(workspaceId, ownerId, { monthly_cost_micros, monthly_tokens }) {
      const limits = {
        ...(monthly_cost_micros === undefined ? {} : { monthly_cost_micros }),
        ...(monthly_tokens === undefined ? {} : { monthly_tokens }),
      };
      if (Object.keys(limits).length === 0) return;
      await setBudget({ id: workspaceId, ownerId }, limits, database);
    },
  };
}
