import type { Clock } from '@uswarm/service-kit';
import { sql } from 'kysely';
import type { Database, Transaction } from '../platform/database/database.js';
import { insertSystemMessage, type SystemMessageDeps } from '../records/system-message.js';
import { type BudgetUse, type StoredBudget, WARNED, warningText } from './budget.js';
import { nextPeriodAt, periodOf } from './period.js';
import { markBudgetWarned } from '../records/workspace-rows.js';

export interface BudgetWarningStore {
  /**
   * Returns a result once per workspace and month, once the warning threshold is reached. Locks the workspace then.
   *
   * @returns undefined if there is nothing to warn about, or no conversation to warn in
   */
  mark(call: WarnedCall, period: string, db: Database): Promise<(BudgetUse & StoredBudget) | undefined>;
}

export interface WarnedCall {
  workspaceId: string;
  conversationId: string;
}

/** Call it in the transaction that records usage, after the usage. */
export type WarnAboutBudget = (call: WarnedCall, tx: Transaction) => Promise<void>;

export interface BudgetWarningDeps extends SystemMessageDeps {
  store: BudgetWarningStore;
  clock: Clock;
}

export function createBudgetWarning({ store, clock, ...deps }: BudgetWarningDeps): WarnAboutBudget {
  return async (call, tx) => {
    const now = clock.now();
    const marked = await store.mark(call, periodOf(now), tx);
    if (marked === undefined) return;
    const { workspaceId, conversationId } = call;
    const text = warningText(marked, marked, nextPeriodAt(now));
    await insertSystemMessage(deps, { workspaceId, conversationId, text }, tx);
  };
}

export function createBudgetWarningStore(): BudgetWarningStore {
  const { numerator, denominator } = WARNED;
  return {
    async mark({ workspaceId, conversationId }, period, db) {
      const { rows } = await sql<BudgetUse & StoredBudget>`
        ${markBudgetWarned(workspaceId, period, {
          from: sql`usage_periods p`,
          condition: sql`p.user_id = w.owner_id AND p.workspace_id = w.id AND p.period = ${period}
            AND (p.cost_micros * ${denominator} >= w.monthly_cost_micros * ${numerator}
              OR (p.prompt_tokens + p.completion_tokens) * ${denominator} >= w.monthly_tokens * ${numerator})
            AND EXISTS (SELECT FROM conversations WHERE id = ${conversationId})`,
        })}
        RETURNING w.monthly_cost_micros, w.monthly_tokens, p.cost_micros AS cost,
          p.prompt_tokens + p.completion_tokens AS tokens`.execute(db);
      return rows[0];
    },
  };
}
