import { ApiError, type UserUsageSummary, type WorkspaceUsage } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Plans } from './plans.js';
import { periodOf } from './period.js';
import { type Used, findUsageOfUser, findUsageOfWorkspace } from './usage.store.js';
import type { Database } from '../platform/database/database.js';

export interface UsageServiceDeps {
  database: Database;
  plans: Plans;
  clock: Clock;
}

export interface UsageService {
  /** @throws ApiError `user_not_found` */
  ofUser(userId: string): Promise<UserUsageSummary>;
  /** @throws ApiError `workspace_not_found` */
  ofWorkspace(userId: string, workspaceId: string): Promise<WorkspaceUsage>;
}

function counters({ prompt_tokens, completion_tokens, requests }: Used) {
  return {
    tokens_used: prompt_tokens + completion_tokens,
    prompt_tokens_used: prompt_tokens,
    completion_tokens_used: completion_tokens,
    request_count: requests,
  };
}

/** Usage that model providers reported, per month in UTC. */
export function createUsageService({ database, plans, clock }: UsageServiceDeps): UsageService {
  return {
    async ofUser(userId) {
      const now = clock.now();
      const used = await findUsageOfUser(database, userId, periodOf(now));
      if (used === undefined) throw new ApiError('user_not_found');
      const { plan } = plans.of(used, now);
      return { current_period: periodOf(now), ...counters(used), token_limit: plan.token_limit, plan_id: plan.code };
    },

    async ofWorkspace(userId, workspaceId) {
      const now = clock.now();
      const used = await findUsageOfWorkspace(database, workspaceId, periodOf(now), userId);
      if (used === undefined) throw new ApiError('workspace_not_found');
      const { plan } = plans.of(used, now);
      return { period: periodOf(now), ...counters(used), token_limit: plan.workspace_token_limit };
    },
  };
}
