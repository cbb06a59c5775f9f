import type { Clock } from '@uswarm/service-kit';
import { sql } from 'kysely';
import type { Database, Transaction } from '../platform/database/database.js';
import { insertSystemMessage } from '../records/system-message.js';
import { type BudgetUse, type StoredBudget, WARNED, warningText } from './budget.js';
import { type LimitNoteDeps, noteLimit } from './limit-note.js';
import { nextPeriodAt, periodOf } from './period.js';
import { reachedBudget } from './usage-limits.js';
import { markBudgetWarned } from '../records/workspace-rows.js';

export interface WarnedCall {
  workspaceId: string;
  conversationId: string;
}

/** Call it in the transaction that records usage, after the usage. */
export type WarnAboutBudget = (call: WarnedCall, tx: Transaction) => Promise<void>;

export interface BudgetWarningDeps extends LimitNoteDeps {
  clock: Clock;
}

export function createBudgetWarning({ clock, ...deps }: BudgetWarningDeps): WarnAboutBudget {
  return async (call, tx) => {
    const now = clock.now();
    const marked = await markBudgetWarning(tx, call, periodOf(now));
    if (marked === undefined) return;
    const { workspaceId, conversationId } = call;
    const resetsAt = nextPeriodAt(now);
    // One call can use the rest of the budget, so that a warning would come too late.
    const limit = reachedBudget(marked, marked, resetsAt.toISOString());
    if (limit !== undefined) return noteLimit(deps, { workspaceId, conversationId, limit }, tx);
    const text = warningText(marked, marked, resetsAt);
    await insertSystemMessage(deps, { workspaceId, conversationId, text }, tx);
  };
}

const { numerator, denominator } = WARNED;

/**
 * Returns a result once per workspace and month, once the warning threshold is reached. Locks the workspace then.
 *
 * @returns undefined if there is nothing to warn about, or no conversation to warn in
 */
export async function markBudgetWarning(
  db: Database,
  { workspaceId, conversationId }: WarnedCall,
  period: string,
): Promise<(BudgetUse & StoredBudget) | undefined> {
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
}
