import { ApiError } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Database } from '../platform/database/database.js';
import type { Plan } from '../platform/core/catalog.js';
import type { Plans, StoredPlan } from './plans.js';
import { CURRENCY, type StoredBudget } from './budget.js';
import { nextPeriodAt, periodOf } from './period.js';
import type { Used, UsageStore, WorkspaceUsageRow } from './usage.store.js';

/** The limit that is reached. Limits of the scope `budget` are those that the owner of the workspace has set. */
export type LimitReached = {
  /** The start of the next period, in ISO 8601. */
  resets_at: string;
} & (
  | { scope: 'user' | 'workspace' | 'budget'; token_limit: number }
  | { scope: 'budget'; cost_limit_micros: number; currency: string }
);

/** What was used in a period. */
export interface UsedBefore {
  /** Tokens in all workspaces of the owner, including deleted ones. */
  user: number;
  /** Tokens. */
  workspace: number;
  /** The cost in the workspace, in micro US dollars. */
  cost: number;
}

/** The limits of a period. */
export interface Allowance {
  period: string;
  /** Tokens. */
  user: number;
  /** Tokens. */
  workspace: number;
  budget: StoredBudget;
  /** The start of the next period, in ISO 8601. */
  resetsAt: string;
}

/** The limits of the period, for a workspace and its owner. */
export interface UsageLimits {
  reached(workspaceId: string, db?: Database): Promise<LimitReached | undefined>;
  /** What a workspace with this budget may use now, whose owner has this plan. Pure except for the clock. */
  allowanceOf(stored: StoredPlan & StoredBudget): Allowance;
  /**
   * Whether another turn may begin: each running turn reserves the estimated tokens of a model call. The result is valid
   * until the end of the transaction, which must have the usage lock of the owner, and mark the turn as running.
   *
   * @returns the budget of the turn, or the limit that is reached; undefined if it must wait
   */
  reserve(workspaceId: string, db: Database): Promise<TurnBudget | LimitReached | undefined>;
  /** The budget of a new turn, which the user can grant again. */
  turnBudget(workspaceId: string, db: Database): Promise<TurnBudget>;
  /** The current period of usage. */
  period(): string;
  /** @param used the usage of the current period @throws ApiError `token_limit_reached` */
  requireLeft(used: WorkspaceUsageRow): void;
  /** @throws ApiError `token_limit_reached` */
  requireTokensLeft(workspaceId: string, db?: Database): Promise<void>;
}

/** Null without a limit. */
export interface TurnBudget {
  tokens: number | null;
}

export interface UsageLimitsDeps {
  store: Pick<UsageStore, 'ofWorkspace' | 'ofRunning'>;
  plans: Plans;
  clock: Clock;
}

/** The minimum estimate of the tokens of a model call. */
const LEAST_ESTIMATE = 2_000;

/** Estimates the tokens of a model call by the average of the period. Pure. */
export function estimatedCall({ prompt_tokens, completion_tokens, requests }: Used): number {
  const average = requests === 0 ? 0 : Math.ceil((prompt_tokens + completion_tokens) / requests);
  return Math.max(LEAST_ESTIMATE, average);
}

/** Estimates the cost of a model call by the average of the period, in which the first one is unknown. Pure. */
const averageCost = ({ cost_micros, requests }: Pick<WorkspaceUsageRow, 'cost_micros' | 'requests'>): number =>
  requests === 0 ? 0 : Math.ceil(cost_micros / requests);

/** @returns undefined if something is left of each limit. Pure. */
function limitReached(used: UsedBefore, allowance: Allowance): LimitReached | undefined {
  const { budget, resetsAt: resets_at } = allowance;
  const scope = (['user', 'workspace'] as const).find((one) => used[one] >= allowance[one]);
  if (scope !== undefined) return { scope, token_limit: allowance[scope], resets_at };
  const { monthly_cost_micros: cost, monthly_tokens: tokens } = budget;
  if (cost !== null && used.cost >= cost)
    return { scope: 'budget', cost_limit_micros: cost, currency: CURRENCY, resets_at };
  if (tokens !== null && used.workspace >= tokens) return { scope: 'budget', token_limit: tokens, resets_at };
  return undefined;
}

/** @throws ApiError `token_limit_reached` */
export function requireWithin(used: UsedBefore, allowance: Allowance): void {
  const limit = limitReached(used, allowance);
  if (limit !== undefined) throw new ApiError('token_limit_reached', { extra: { ...limit } });
}

/** The part of the monthly limit of a workspace that one turn may use without a question to the user. */
const TURN_SHARE = 0.2;
const MAX_TURN_TOKENS = 1_000_000;

/** The budget of a turn in tokens. Pure. */
export const turnTokens = (plan: Pick<Plan, 'turn_token_limit' | 'workspace_token_limit'>): number =>
  plan.turn_token_limit ?? Math.min(MAX_TURN_TOKENS, Math.ceil(plan.workspace_token_limit * TURN_SHARE));

export function createUsageLimits({ store, plans, clock }: UsageLimitsDeps): UsageLimits {
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

  async function reached(workspaceId: string, db?: Database): Promise<LimitReached | undefined> {
    const now = clock.now();
    const used = await store.ofWorkspace(workspaceId, periodOf(now), undefined, db);
    return used === undefined ? undefined : reachedBy(used, now);
  }
  return {
    reached,
    allowanceOf: (plan) => allowanceAt(clock.now(), plan),
    async reserve(workspaceId, db) {
      const now = clock.now();
      const found = await store.ofRunning(workspaceId, periodOf(now), db);
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
      const used = await store.ofWorkspace(workspaceId, periodOf(now), undefined, db);
      return { tokens: used === undefined ? null : turnTokens(plans.of(used, now).plan) };
    },
    period: () => periodOf(clock.now()),
    requireLeft: (used) => requireWithin(usedBefore(used), allowanceAt(clock.now(), used)),
    async requireTokensLeft(workspaceId, db) {
      const limit = await reached(workspaceId, db);
      if (limit !== undefined) throw new ApiError('token_limit_reached', { extra: { ...limit } });
    },
  };
}
