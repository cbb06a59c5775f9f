import { data } from '../resources/primitives.js';
import { UserUsageSummary, WorkspaceUsage } from '../resources/usage.js';
import { defineRoute, id, ok } from './define.js';
import * as examples from './examples.js';

const workspace = { id: id('workspace_not_found') };

export const usageRoutes = [
  defineRoute({
    operationId: 'getUsageSummary',
    method: 'get',
    path: '/v1/users/usage/summary',
    auth: 'user',
    tag: 'account',
    summary: 'Get the current-month usage of the user',
    responses: ok(data(UserUsageSummary)),
    example: { answer: { data: { current_period: '2026-11', ...examples.usage, plan_id: 'free' } } },
  }),
  defineRoute({
    operationId: 'getWorkspaceUsage',
    method: 'get',
    path: '/v1/workspaces/{id}/usage',
    auth: 'user',
    tag: 'workspaces',
    summary: 'Get the current-month usage of a workspace',
    params: workspace,
    responses: ok(data(WorkspaceUsage)),
    example: { params: examples.ofWorkspace, answer: { data: { period: '2026-11', ...examples.usage } } },
  }),
] as const;
