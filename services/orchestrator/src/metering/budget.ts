import type { WorkspaceBudget } from '@uswarm/contract';

/** Per month. Null: no limit. */
export interface StoredBudget {
  monthly_cost_micros: number | null;
  monthly_tokens: number | null;
}

/** Per month. */
export interface BudgetUse {
  cost: number;
  tokens: number;
}

export const CURRENCY = 'USD';

/** The user is warned from this share; integers for SQL. */
export const WARNED = { numerator: 4, denominator: 5 } as const;

/** Share of whichever limit is closer; 0 without a limit. Pure. */
function usedPart({ cost, tokens }: BudgetUse, { monthly_cost_micros, monthly_tokens }: StoredBudget): number {
  return Math.max(
    monthly_cost_micros === null ? 0 : cost / monthly_cost_micros,
    monthly_tokens === null ? 0 : tokens / monthly_tokens,
  );
}

/** Pure. */
export function budgetState(used: BudgetUse, budget: StoredBudget): WorkspaceBudget['state'] {
  if (budget.monthly_cost_micros === null && budget.monthly_tokens === null) return 'none';
  const part = usedPart(used, budget);
  if (part >= 1) return 'reached';
  return part >= WARNED.numerator / WARNED.denominator ? 'warning' : 'within';
}

/** Micro US dollars as text, in cents unless that would be 0. Pure. */
export function costText(micros: number): string {
  const maximumFractionDigits = micros < 10_000 ? 6 : 2;
  return (micros / 1e6).toLocaleString('en-US', { style: 'currency', currency: CURRENCY, maximumFractionDigits });
}

export function warningText(used: BudgetUse, budget: StoredBudget, resetsAt: Date): string {
  const percent = Math.floor(100 * usedPart(used, budget));
  const byCost =
    usedPart(used, { ...budget, monthly_tokens: null }) >= usedPart(used, { ...budget, monthly_cost_micros: null });
  const amounts = byCost
    ? `${costText(used.cost)} of ${costText(budget.monthly_cost_micros ?? 0)}`
    : `${used.tokens.toLocaleString('en-US')} of ${(budget.monthly_tokens ?? 0).toLocaleString('en-US')} tokens`;
  return `This workspace has used ${percent}% of its budget for this month: ${amounts}. When the budget is reached, agents stop until ${resetsAt.toISOString().slice(0, 10)} (UTC).`;
}
