import { z } from 'zod';
import { Period } from './primitives.js';

const usageCounters = {
  tokens_used: z.int().nonnegative(),
  prompt_tokens_used: z.int().nonnegative(),
  completion_tokens_used: z.int().nonnegative(),
  request_count: z
    .int()
    .nonnegative()
    .meta({ description: 'The number of model calls: one per turn, and one more after each round of tool calls.' }),
  token_limit: z.int().nonnegative(),
};

export const UserUsageSummary = z
  .strictObject({ current_period: Period, ...usageCounters, plan_id: z.string() })
  .meta({ id: 'UserUsageSummary' });
export type UserUsageSummary = z.output<typeof UserUsageSummary>;

export const WorkspaceUsage = z.strictObject({ period: Period, ...usageCounters }).meta({ id: 'WorkspaceUsage' });
export type WorkspaceUsage = z.output<typeof WorkspaceUsage>;
