import { ApiError } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Database } from '../platform/database/database.js';
import type { Plan } from '../platform/core/catalog.js';
import type { Plans, StoredPlan } from './plans.js';
import { type BudgetUse, CURRENCY, type StoredBudget } from './budget.js';
import { nextPeriodAt, periodOf } from './period.js';
import { type Used, type WorkspaceUsageRow, findUsageOfWorkspace, findUsageOfRunning } from './usage.store.js';

/** Limits with the scope `budget` were set by the workspace's owner. */
export type LimitReached = {
  /** ISO 8601. */
  resets_at: string;
} & (
  | { scope: 'user' | 'workspace' | 'budget'; token_limit: number }
  | { scope: 'budget'; cost_limit_micros: number; currency: string }
);

export interface UsedBefore {
  /** Tokens in all the owner's workspaces, including deleted ones. */
  user: number;
  /** Tokens. */
  workspace: number;
  /** Cost in the workspace, in micro US dollars. */
  cost: number;
}

export interface Allowance {
  period: string;
  /** Tokens. */
  user: number;
  /** Tokens. */
  workspace: number;
  budget: StoredBudget;
  /** ISO 8601. */
  resetsAt: string;
}

export interface UsageLimits {
  reached(workspaceId: string, db?: Database): Promise<LimitReached | undefined>;
  /** For the current period. Pure except for the clock. */
  allowanceOf(stored: StoredPlan & StoredBudget): Allowance;
  /**
   * Decides if another turn may begin: each running turn reserves a model call's estimated tokens. The result is valid
   * until the transaction ends, which must have the owner's usage lock, and mark the turn as running.
   *
   * @returns the turn's budget, or the limit that is reached; undefined if the turn must wait
   */
  reserve(workspaceId: string, db: Database): Promise<TurnBudget | LimitReached | undefined>;
  /** Budget for a new turn. The user can grant it again. */
  turnBudget(workspaceId: string, db: Database): Promise<TurnBudget>;
  period(): string;
  /** @param used in the current period @throws ApiError `token_limit_reached` */
  requireLeft(used: WorkspaceUsageRow): void;
  /** @throws ApiError `token_limit_reached` */
  requireTokensLeft(workspaceId: string, db?: Database): Promise<void>;
}

/** Null without a limit. */
export interface TurnBudget {
  tokens: number | null;
}

export interface UsageLimitsDeps {
  database: Database;
  plans: Plans;
  clock: Clock;
}

/** Lower bound for a model call's estimated tokens. */
const LEAST_ESTIMATE = 2_000;

/** Estimates a model call's tokens by the period's average. Pure. */
export function estimatedCall({ prompt_tokens, completion_tokens, requests }: Used): number {
  const average = requests === 0 ? 0 : Math.ceil((prompt_tokens + completion_tokens) / requests);
  return Math.max(LEAST_ESTIMATE, average);
}

/** Estimates a model call's cost by the period's average; 0 for the period's first call. Pure. */
const averageCost = ({ cost_micros, requests }: Pick<WorkspaceUsageRow, 'cost_micros' | 'requests'>): number =>
  requests === 0 ? 0 : Math.ceil(cost_micros / requests);

/** @returns undefined if the budget is not reached. Pure. */
export function reachedBudget(used: BudgetUse, budget: StoredBudget, resets_at: string): LimitReached | undefined {
  const { monthly_cost_micros: cost, monthly_tokens: tokens } = budget;
  if (cost !== null && used.cost >= cost)
    return { scope: 'budget', cost_limit_micros: cost, currency: CURRENCY, resets_at };
  if (tokens !== null && used.tokens >= tokens) return { scope: 'budget', token_limit: tokens, resets_at };
  return undefined;
}

/** @returns undefined if no limit is reached. Pure. */
function limitReached(used: UsedBefore, allowance: Allowance): LimitReached | undefined {
  const { budget, resetsAt: resets_at } = allowance;
  const scope = (['user', 'workspace'] as const).find((one) => used[one] >= allowance[one]);
  if (scope !== undefined) return { scope, token_limit: allowance[scope], resets_at };
  return reachedBudget({ cost: used.cost, tokens: used.workspace }, budget, resets_at);
}

/** @throws ApiError `token_limit_reached` */
export function requireWithin(used: UsedBefore, allowance: Allowance): void {
  const limit = limitReached(used, allowance);
  if (limit !== undefined) throw new ApiError('token_limit_reached', { extra: { ...limit } });
}

/** Share of a workspace's monthly limit that one turn may use without asking the user. */
const TURN_SHARE = 0.2;
const MAX_TURN_TOKENS = 1_000_000;

export const turnTokens = (plan: Pick<Plan, 'turn_token_limit' | 'workspace_token_limit'>): number =>
  plan.turn_token_limit ?? Math.min(MAX_TURN_TOKENS, Math.ceil(plan.workspace_token_limit * TURN_SHARE));

export function createUsageLimits({ database, plans, clock }: UsageLimitsDeps): UsageLimits {
  function allowanceAt(now: Date, stored: StoredPlan & StoredBudget): Allowance {
    const { plan } = plans.of(stored, now);
    return {
      period: periodOf(now),
      user: plan.token_limit,
      workspace: plan.workspace_token_limit,
      budget: stored,
      resetsAt: nextPeriodAt(now).toISOString(),
    };
  }

  const usedBefore = (used: WorkspaceUsageRow): UsedBefore => ({
    user: used.user_tokens,
    workspace: used.prompt_tokens + used.completion_tokens,
    cost: used.cost_micros,
  });

  const reachedBy = (used: WorkspaceUsageRow, now: Date): LimitReached | undefined =>
    limitReached(usedBefore(used), allowanceAt(now, used));

  async function reached(workspaceId: string, db: Database = database): Promise<LimitReached | undefined> {
    const now = clock.now();
    const used = await findUsageOfWorkspace(db, workspaceId, periodOf(now));
    return used === undefined ? undefined : reachedBy(used, now);
  }
  return {
    reached,
    allowanceOf: (plan) => allowanceAt(clock.now(), plan),
    async reserve(workspaceId, db) {
      const now = clock.now();
      const found = await findUsageOfRunning(db, workspaceId, periodOf(now));
      if (found === undefined) return { tokens: null };
      const { running, ...used } = found;
      const limitNow = reachedBy(used, now);
      if (limitNow !== undefined) return limitNow;
      const { plan } = plans.of(used, now);
      const each = estimatedCall(used);
      const fits = (spent: number, replies: number, limit: number | null, one = each): boolean =>
        limit === null || replies === 0 || spent + replies * one < limit;
      const tokens = used.prompt_tokens + used.completion_tokens;
      const mayBegin =
        fits(used.user_tokens, running.user, plan.token_limit) &&
        fits(tokens, running.workspace, plan.workspace_token_limit) &&
        fits(tokens, running.workspace, used.monthly_tokens) &&
        fits(used.cost_micros, running.workspace, used.monthly_cost_micros, averageCost(used));
      return mayBegin ? { tokens: turnTokens(plan) } : undefined;
    },
    async turnBudget(workspaceId, db) {
      const now = clock.now();
      const used = await findUsageOfWorkspace(db, workspaceId, periodOf(now));
      return { tokens: used === undefined ? null : turnTokens(plans.of(used, now).plan) };
    },
    period: () => periodOf(clock.now()),
    requireLeft: (used) => requireWithin(usedBefore(used), allowanceAt(clock.now(), used)),
    async requireTokensLeft(workspaceId, db = database) {
      const limit = await reached(workspaceId, db);
      if (limit !== undefined) throw new ApiError('token_limit_reached', { extra: { ...limit } });
    },
  };
}
