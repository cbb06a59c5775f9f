import { ApiError } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Database } from '../../database/database.js';
import type { Plan } from '../core/catalog.js';
import type { Plans, StoredPlan } from '../plans/plans.js';
import { nextPeriodAt, periodOf } from './period.js';
import type { Used, UsageStore } from './usage.store.js';

/** The token limit that is reached. */
export interface LimitReached {
  scope: 'user' | 'workspace';
  token_limit: number;
  /** The start of the next period, in ISO 8601. */
  resets_at: string;
}

/** The tokens used in a period. */
export interface UsedTokens {
  /** In all workspaces of the owner, including deleted ones. */
  user: number;
  workspace: number;
}

/** The token limits of a period. */
export interface Allowance {
  period: string;
  limits: UsedTokens;
  /** The start of the next period, in ISO 8601. */
  resetsAt: string;
}

/** The token limits of the period, for a workspace and its owner. */
export interface UsageLimits {
  reached(workspaceId: string, db?: Database): Promise<LimitReached | undefined>;
  /** What a user with this plan may use now. Pure except for the clock. */
  allowanceOf(plan: StoredPlan): Allowance;
  /**
   * Whether another turn may begin: each running turn reserves the estimated tokens of a model call. The result is valid
   * until the end of the transaction, which must mark the turn as running.
   *
   * @returns the budget of the turn; undefined if it must wait
   */
  reserve(workspaceId: string, db: Database): Promise<TurnBudget | undefined>;
  /** The budget of a new turn, which the user can grant again. */
  turnBudget(workspaceId: string, db: Database): Promise<TurnBudget>;
  /** @throws ApiError `token_limit_reached` */
  requireTokensLeft(workspaceId: string, db?: Database): Promise<void>;
}

/** Null without a limit. */
export interface TurnBudget {
  tokens: number | null;
}

export interface UsageLimitsDeps {
  store: Pick<UsageStore, 'ofWorkspace' | 'lockRunning'>;
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

/** @returns undefined if a token is left. Pure. */
function limitReached(used: UsedTokens, { limits, resetsAt }: Allowance): LimitReached | undefined {
  const scope = (['user', 'workspace'] as const).find((one) => used[one] >= limits[one]);
  return scope === undefined ? undefined : { scope, token_limit: limits[scope], resets_at: resetsAt };
}

/** @throws ApiError `token_limit_reached` */
export function requireWithin(used: UsedTokens, allowance: Allowance): void {
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
  function allowanceAt(now: Date, stored: StoredPlan): Allowance {
    const { plan } = plans.of(stored, now);
    return {
      period: periodOf(now),
      limits: { user: plan.token_limit, workspace: plan.workspace_token_limit },
      resetsAt: nextPeriodAt(now).toISOString(),
    };
  }

  async function reached(workspaceId: string, db?: Database): Promise<LimitReached | undefined> {
    const now = clock.now();
    const used = await store.ofWorkspace(workspaceId, periodOf(now), undefined, db);
    if (used === undefined) return undefined;
    const tokens = { user: used.user_tokens, workspace: used.prompt_tokens + used.completion_tokens };
    return limitReached(tokens, allowanceAt(now, used));
  }
  return {
    reached,
    allowanceOf: (plan) => allowanceAt(clock.now(), plan),
    async reserve(workspaceId, db) {
      const running = await store.lockRunning(workspaceId, db);
      const now = clock.now();
      const used = await store.ofWorkspace(workspaceId, periodOf(now), undefined, db);
      if (used === undefined) return { tokens: null };
      const { plan } = plans.of(used, now);
      const each = estimatedCall(used);
      const fits = (tokens: number, replies: number, limit: number): boolean =>
        replies === 0 || tokens + replies * each < limit;
      const tokens = used.prompt_tokens + used.completion_tokens;
      const mayBegin =
        fits(used.user_tokens, running.user, plan.token_limit) &&
        fits(tokens, running.workspace, plan.workspace_token_limit);
      return mayBegin ? { tokens: turnTokens(plan) } : undefined;
    },
    async turnBudget(workspaceId, db) {
      const now = clock.now();
      const used = await store.ofWorkspace(workspaceId, periodOf(now), undefined, db);
      return { tokens: used === undefined ? null : turnTokens(plans.of(used, now).plan) };
    },
    async requireTokensLeft(workspaceId, db) {
      const limit = await reached(workspaceId, db);
      if (limit !== undefined) throw new ApiError('token_limit_reached', { extra: { ...limit } });
    },
  };
}
