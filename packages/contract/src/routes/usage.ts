import { z } from 'zod';
import { data } from '../resources/primitives.js';
import {
  UpdateBudgetBody,
  USAGE_GROUPS,
  UsageReportPage,
  UserUsageSummary,
  WorkspaceBudget,
  WorkspaceUsage,
} from '../resources/usage.js';
import { defineRoute, id, ok } from './define.js';
import * as examples from './examples.js';
import { pageQuery } from './pages.js';

const workspace = { id: id('workspace_not_found') };

export const usageRoutes = [
  defineRoute({
    operationId: 'getUsageSummary',
    method: 'get',
    path: '/v1/users/usage/summary',
    auth: 'user',
    scope: 'read',
    reach: 'account',
    tag: 'account',
    summary: 'Get the current-month usage of the user',
    description: 'The sum over all workspaces, since the first day of the month in UTC.',
    responses: ok(data(UserUsageSummary)),
    example: { answer: { data: { current_period: '2026-11', ...examples.usage, plan_id: 'free' } } },
  }),
  defineRoute({
    operationId: 'getWorkspaceUsage',
    method: 'get',
    path: '/v1/workspaces/{id}/usage',
    auth: 'user',
    scope: 'read',
    tag: 'workspaces',
    summary: 'Get the current-month usage of a workspace',
    description:
      'Since the first day of the month in UTC. `GET /v1/workspaces/{id}/usage/report` has details and cost.',
    params: workspace,
    responses: ok(data(WorkspaceUsage)),
    example: { params: examples.ofWorkspace, answer: { data: { period: '2026-11', ...examples.usage } } },
  }),
  defineRoute({
    operationId: 'getUsageReport',
    method: 'get',
    path: '/v1/workspaces/{id}/usage/report',
    auth: 'user',
    scope: 'read',
    tag: 'workspaces',
    summary: 'Get tokens and cost of a workspace by agent, conversation, turn, model or day',
    description:
      'The cost of a call follows the prices of the model catalogue at the time of the call. Groups are sorted by descending key, ' +
      'so that the newest turns, conversations and days are first. Pages are listed forward only: `prev_scroll_id` is always null.',
    extension: true,
    params: workspace,
    query: pageQuery.omit({ direction: true }).extend({
      group_by: z.enum(USAGE_GROUPS).default('agent').meta({ description: 'The kind of rows in the report.' }),
      from: z.iso.date().optional().meta({
        description:
          'The first day in UTC. Default: the first day of the month of `to`. A report has at most 366 days.',
      }),
      to: z.iso.date().optional().meta({ description: 'The last day in UTC. Default: today.' }),
    }),
    responses: ok(UsageReportPage),
    errors: ['cursor_invalid'],
    example: {
      params: examples.ofWorkspace,
      query: { group_by: 'turn', from: '2026-11-01', to: '2026-11-30', limit: 20 },
      answer: { data: examples.usageReport, pagination: examples.lastPage },
    },
  }),
  defineRoute({
    operationId: 'getWorkspaceBudget',
    method: 'get',
    path: '/v1/workspaces/{id}/budget',
    auth: 'user',
    scope: 'read',
    tag: 'workspaces',
    summary: 'Get the monthly budget of a workspace',
    description: 'With what has been used of it. A workspace without a budget has the limits of the plan only.',
    extension: true,
    params: workspace,
    responses: ok(data(WorkspaceBudget)),
    example: { params: examples.ofWorkspace, answer: { data: examples.budget } },
  }),
  defineRoute({
    operationId: 'updateWorkspaceBudget',
    method: 'patch',
    path: '/v1/workspaces/{id}/budget',
    auth: 'user',
    scope: 'write',
    tag: 'workspaces',
    summary: 'Change the monthly budget of a workspace',
    description:
      'A system message warns once per month when 80% of a limit are used. Agents stop when a limit is reached. Set a limit of ' +
      'tokens if models have no price. The limits of the plan still apply.',
    extension: true,
    params: workspace,
    body: UpdateBudgetBody,
    responses: ok(data(WorkspaceBudget)),
    example: {
      params: examples.ofWorkspace,
      body: {
        cost: { monthly_cost_micros: 10_000_000 },
        tokens: { monthly_tokens: 500_000 },
        none: { monthly_cost_micros: null, monthly_tokens: null },
      },
      answer: { data: examples.budget },
    },
  }),
] as const;
