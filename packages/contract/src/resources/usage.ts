import { z } from 'zod';
import { Pagination } from './message.js';
import { Id, Period, STRICT, Timestamp } from './primitives.js';

const count = z.int().nonnegative();

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

const currency = z.literal('USD').meta({ description: 'ISO 4217.' });

/** A limit in a request or response. The maximum is a billion US dollars. */
const limit = z.int().positive().max(1e15).nullable();
const budgetLimits = {
  monthly_cost_micros: limit.meta({
    description: 'The most that model calls may cost per month, in millionths of `currency`. Null: no limit.',
  }),
  monthly_tokens: limit.meta({
    description: 'The most tokens that model calls may use per month, with or without a price. Null: no limit.',
  }),
};

export const WorkspaceBudget = z
  .strictObject({
    period: Period,
    ...budgetLimits,
    currency,
    cost_micros_used: count.meta({
      description: 'The cost of this month. Calls in progress count with their estimate.',
    }),
    tokens_used: count,
    state: z.enum(['none', 'within', 'warning', 'reached']).meta({
      description:
        '`none`: without a budget. `warning`: 80% of a limit are used. `reached`: messages are refused with `token_limit_reached`.',
    }),
    resets_at: Timestamp.meta({ description: 'The start of the next month in UTC.' }),
  })
  .meta({ id: 'WorkspaceBudget' });
export type WorkspaceBudget = z.output<typeof WorkspaceBudget>;

/** Strict: a misspelled limit must not leave the workspace without one. */
export const UpdateBudgetBody = z
  .strictObject(budgetLimits)
  .partial()
  .meta({ id: 'UpdateBudgetBody', ...STRICT });
export type UpdateBudgetBody = z.output<typeof UpdateBudgetBody>;

/** What the usage of a workspace can be grouped by. */
export const USAGE_GROUPS = ['agent', 'conversation', 'turn', 'model', 'day'] as const;
export type UsageGrouping = (typeof USAGE_GROUPS)[number];

export const UsageAmount = z
  .strictObject({
    model_calls: count,
    prompt_tokens: count,
    cached_tokens: count.meta({ description: 'Part of `prompt_tokens`.' }),
    completion_tokens: count,
    reasoning_tokens: count.meta({ description: 'Part of `completion_tokens`.' }),
    cost_micros: count.nullable().meta({ description: 'In millionths of the currency. Null if no call has a price.' }),
    unpriced_tokens: count.meta({
      description: 'Tokens of calls without a price, which `cost_micros` does not contain.',
    }),
  })
  .meta({ id: 'UsageAmount' });
export type UsageAmount = z.output<typeof UsageAmount>;

const turnOfUsage = z
  .strictObject({
    agent_id: Id.nullable(),
    conversation_id: Id.nullable(),
    delegated_by: Id.nullable().meta({ description: 'The turn that delegated this one. Null for other turns.' }),
    total: UsageAmount,
  })
  .nullable()
  .meta({
    description:
      'Null unless the usage is grouped by turn. `total` includes the turns that this one delegated, and those that they delegated.',
  });

export const UsageGroup = z
  .strictObject({
    key: z.string().meta({
      description:
        'The id of the agent, conversation or turn; provider and name of the model, as in `openai/gpt-5-mini`; or the day. ' +
        '`unknown` for usage of release 0.2 whose turn was deleted.',
    }),
    name: z.string().nullable().meta({
      description:
        'The name of the agent or the title of the conversation. Null if it was deleted, and for other groups.',
    }),
    usage: UsageAmount,
    turn: turnOfUsage,
  })
  .meta({ id: 'UsageGroup' });
export type UsageGroup = z.output<typeof UsageGroup>;

export const UsageReport = z
  .strictObject({
    from: z.iso.date(),
    to: z.iso.date(),
    currency,
    total: UsageAmount,
    budget: WorkspaceBudget,
    groups: z.array(UsageGroup),
  })
  .meta({ id: 'UsageReport', description: '`total` is the sum of the groups of all pages.' });
export type UsageReport = z.output<typeof UsageReport>;

export const UsageReportPage = z
  .strictObject({ data: UsageReport, pagination: Pagination })
  .meta({ id: 'UsageReportPage' });
export type UsageReportPage = z.output<typeof UsageReportPage>;
