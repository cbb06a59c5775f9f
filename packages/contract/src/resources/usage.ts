import { z } from 'zod';
import { pagination } from './message.js';
import { Id, Period, STRICT, Timestamp } from './primitives.js';

const count = z.int().nonnegative();

const usageCounters = {
  tokens_used: count.meta({ description: 'Tokens that models read and wrote together in this month.' }),
  prompt_tokens_used: count.meta({ description: 'Tokens that models read, including cached ones.' }),
  completion_tokens_used: count.meta({ description: 'Tokens that models wrote, including those of their thoughts.' }),
  request_count: z
    .int()
    .nonnegative()
    .meta({ description: 'The number of model calls: one per turn, and one more after each round of tool calls.' }),
  token_limit: count.meta({ description: 'The most tokens that the plan allows per month.' }),
};

export const UserUsageSummary = z
  .strictObject({
    current_period: Period,
    ...usageCounters,
    plan_id: z.string().meta({ description: 'The code of the subscription, such as `free`.' }),
  })
  .meta({ id: 'UserUsageSummary', description: 'What all workspaces of the user have used this month.' });
export type UserUsageSummary = z.output<typeof UserUsageSummary>;

export const WorkspaceUsage = z
  .strictObject({ period: Period, ...usageCounters })
  .meta({ id: 'WorkspaceUsage', description: 'What the agents of one workspace have used this month.' });
export type WorkspaceUsage = z.output<typeof WorkspaceUsage>;

const currency = z.literal('USD').meta({ description: 'The ISO 4217 code that all amounts are in.' });

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
    tokens_used: count.meta({ description: 'Tokens of this month. Calls in progress count with their estimate.' }),
    state: z.enum(['none', 'within', 'warning', 'reached']).meta({
      description:
        '`none`: without a budget. `warning`: 80% of a limit are used. `reached`: messages are refused with `token_limit_reached`.',
    }),
    resets_at: Timestamp.meta({ description: 'The start of the next month in UTC.' }),
  })
  .meta({
    id: 'WorkspaceBudget',
    description: 'The limits that the user set for a workspace, and how much of them is used.',
  });
export type WorkspaceBudget = z.output<typeof WorkspaceBudget>;

/** Strict: a misspelled limit must not leave the workspace without one. */
export const UpdateBudgetBody = z
  .strictObject(budgetLimits)
  .partial()
  .meta({
    id: 'UpdateBudgetBody',
    description: `New limits: absent fields do not change, null removes a limit. ${STRICT}`,
  });
export type UpdateBudgetBody = z.output<typeof UpdateBudgetBody>;

/** Groupings for workspace usage. */
export const USAGE_GROUPS = ['agent', 'conversation', 'turn', 'model', 'day'] as const;
export type UsageGrouping = (typeof USAGE_GROUPS)[number];

export const UsageAmount = z
  .strictObject({
    model_calls: count.meta({ description: 'How often a model was asked.' }),
    prompt_tokens: count.meta({ description: 'Tokens that models read.' }),
    cached_tokens: count.meta({
      description: 'The part of `prompt_tokens` that was cheaper because the provider knew it.',
    }),
    completion_tokens: count.meta({ description: 'Tokens that models wrote.' }),
    reasoning_tokens: count.meta({ description: 'The part of `completion_tokens` that users do not see: thoughts.' }),
    cost_micros: count.nullable().meta({ description: 'In millionths of the currency. Null if no call has a price.' }),
    unpriced_tokens: count.meta({
      description: 'Tokens of calls without a price, which `cost_micros` does not contain.',
    }),
  })
  .meta({ id: 'UsageAmount', description: 'Tokens and cost of some model calls.' });
export type UsageAmount = z.output<typeof UsageAmount>;

const TurnUsage = z
  .strictObject({
    agent_id: Id.nullable().meta({ description: 'Who replied; null if that agent no longer exists.' }),
    conversation_id: Id.nullable().meta({ description: 'Where the reply was written; null if it was deleted.' }),
    delegated_by: Id.nullable().meta({ description: 'The turn that delegated this one. Null for other turns.' }),
    total: UsageAmount.meta({
      description: 'Includes the turns that this one delegated, and those that they delegated.',
    }),
  })
  .meta({ id: 'TurnUsage', description: 'What a reply used, with the tasks that it gave to other agents.' });

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
    usage: UsageAmount.meta({ description: 'The sum over the calls of this group.' }),
    turn: TurnUsage.nullable().meta({ description: 'Null unless the usage is grouped by turn.' }),
  })
  .meta({ id: 'UsageGroup', description: 'A row of a report, by the value of `group_by`.' });
export type UsageGroup = z.output<typeof UsageGroup>;

export const UsageReport = z
  .strictObject({
    from: z.iso.date().meta({ description: 'The first day in UTC.' }),
    to: z.iso.date().meta({ description: 'The last day in UTC, which is included.' }),
    currency,
    total: UsageAmount.meta({ description: 'The sum of the groups of all pages.' }),
    budget: WorkspaceBudget.meta({ description: 'The present budget, whatever the days of the report.' }),
    groups: z.array(UsageGroup).meta({ description: 'The rows of this page, by descending `key`.' }),
  })
  .meta({ id: 'UsageReport', description: 'What a workspace used in a range of days.' });
export type UsageReport = z.output<typeof UsageReport>;

export const UsageReportPage = z
  .strictObject({
    data: UsageReport.meta({ description: 'The report with the groups of this page.' }),
    pagination,
  })
  .meta({ id: 'UsageReportPage', description: 'A report with a part of its groups.' });
export type UsageReportPage = z.output<typeof UsageReportPage>;
