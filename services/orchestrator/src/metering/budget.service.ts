import { ApiError, type UpdateBudgetBody, type WorkspaceBudget } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import { type BudgetUse, budgetState, CURRENCY, type StoredBudget } from './budget.js';
import { findBudget, updateBudget } from './budget.store.js';
import { nextPeriodAt, periodOf } from './period.js';
import type { Database } from '../platform/database/database.js';

export interface BudgetServiceDeps {
  database: Database;
  clock: Clock;
}

export interface BudgetService {
  /** @throws ApiError `workspace_not_found` */
  get(userId: string, workspaceId: string): Promise<WorkspaceBudget>;
  /** Changes the limits that are present. @throws ApiError `workspace_not_found` */
  update(userId: string, workspaceId: string, limits: UpdateBudgetBody): Promise<WorkspaceBudget>;
}

function budgetView(row: StoredBudget & BudgetUse, now: Date): WorkspaceBudget {
  return {
    period: periodOf(now),
    monthly_cost_micros: row.monthly_cost_micros,
    monthly_tokens: row.monthly_tokens,
    currency: CURRENCY,
    cost_micros_used: row.cost,
    tokens_used: row.tokens,
    state: budgetState(row, row),
    resets_at: nextPeriodAt(now).toISOString(),
  };
}

export function createBudgetService({ database, clock }: BudgetServiceDeps): BudgetService {
  async function get(userId: string, workspaceId: string): Promise<WorkspaceBudget> {
    const now = clock.now();
    const row = await findBudget(database, workspaceId, userId, periodOf(now));
    if (row === undefined) throw new ApiError('workspace_not_found');
    return budgetView(row, now);
  }
  return {
    get,
    async update(userId, workspaceId, limits) {
      await updateBudget(database, workspaceId, userId, limits);
      return get(userId, workspaceId);
    },
  };
}
