import { ApiError } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Database } from '../../database/database.js';
import type { Plans } from '../plans/plans.js';
import { nextPeriodAt, periodOf } from './period.js';
import type { Used, UsageStore } from './usage.store.js';

/** The limit that stops a workspace from using more. */
export interface LimitReached {
  scope: 'user' | 'workspace';
  token_limit: number;
  /** ISO 8601: when the next period begins. */
  resets_at: string;
}

/** Whether there is anything left of the tokens of the period, for a workspace and for its owner. */
export interface UsageLimits {
  reached(workspaceId: string, db?: Database): Promise<LimitReached | undefined>;
  /**
   * Whether another reply may begin: each one that is being written has reserved an estimate of a model call. Holds for
   * the transaction, in which the turn is marked as running.
   */
  reserve(workspaceId: string, db: Database): Promise<boolean>;
  /** @throws ApiError `token_limit_reached` */
  requireRoom(workspaceId: string, db?: Database): Promise<void>;
}

export interface UsageLimitsDeps {
  store: Pick<UsageStore, 'ofWorkspace' | 'lockRunning'>;
  plans: Plans;
  clock: Clock;
}

/** Tokens that a model call is assumed to use at least. */
const LEAST_ESTIMATE = 2_000;

/** Tokens that one more model call may use: what those of the period used on average. Pure. */
export function estimatedCall({ prompt_tokens, completion_tokens, requests }: Used): number {
  const average = requests === 0 ? 0 : Math.ceil((prompt_tokens + completion_tokens) / requests);
  return Math.max(LEAST_ESTIMATE, average);
}

export function createUsageLimits({ store, plans, clock }: UsageLimitsDeps): UsageLimits {
  async function reached(workspaceId: string, db?: Database): Promise<LimitReached | undefined> {
    const now = clock.now();
    const used = await store.ofWorkspace(workspaceId, periodOf(now), undefined, db);
    if (used === undefined) return undefined;
    const { plan } = plans.of(used, now);
    const resets_at = nextPeriodAt(now).toISOString();
    if (used.user_tokens >= plan.token_limit) return { scope: 'user', token_limit: plan.token_limit, resets_at };
    if (used.prompt_tokens + used.completion_tokens < plan.workspace_token_limit) return undefined;
    return { scope: 'workspace', token_limit: plan.workspace_token_limit, resets_at };
  }
  return {
    reached,
    async reserve(workspaceId, db) {
      const running = await store.lockRunning(workspaceId, db);
      const now = clock.now();
      const used = await store.ofWorkspace(workspaceId, periodOf(now), undefined, db);
      if (used === undefined) return true;
      const { plan } = plans.of(used, now);
      const each = estimatedCall(used);
      const fits = (tokens: number, replies: number, limit: number): boolean =>
        replies === 0 || tokens + replies * each < limit;
      const tokens = used.prompt_tokens + used.completion_tokens;
      return (
        fits(used.user_tokens, running.user, plan.token_limit) &&
        fits(tokens, running.workspace, plan.workspace_token_limit)
      );
    },
    async requireRoom(workspaceId, db) {
      const limit = await reached(workspaceId, db);
      if (limit !== undefined) throw new ApiError('token_limit_reached', { extra: { ...limit } });
    },
  };
}
