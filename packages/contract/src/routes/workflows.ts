import { data } from '../resources/primitives.js';
import { Workflow, WorkflowPage } from '../resources/workflow.js';
import { defineRoute, id, noContent, ok } from './define.js';
import * as examples from './examples.js';
import * as workflowExamples from './workflow-example.js';
import { optionalPageQuery } from './pages.js';

const workspace = { workspaceId: id('workspace_not_found') };
const workflow = { ...workspace, id: id('workflow_not_found') };

export const workflowRoutes = [
  defineRoute({
    operationId: 'listWorkflows',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/workflows',
    auth: 'user',
    scope: 'read',
    tag: 'workflows',
    summary: 'List workflows, newest first',
    description: 'Pages are listed forward only: `prev_scroll_id` is always null.',
    extension: true,
    params: workspace,
    query: optionalPageQuery,
    responses: ok(WorkflowPage),
    errors: ['cursor_invalid'],
    example: {
      params: examples.inWorkspace,
      query: { limit: 20 },
      answer: { data: [workflowExamples.workflowSummary], pagination: examples.lastPage },
    },
  }),
  defineRoute({
    operationId: 'getWorkflow',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/workflows/{id}',
    auth: 'user',
    scope: 'read',
    tag: 'workflows',
    summary: 'Get a workflow with the results of its steps',
    description: 'The steps have their tasks, and their results as far as they have ended.',
    extension: true,
    params: workflow,
    responses: ok(data(Workflow)),
    example: { params: workflowExamples.inWorkflow, answer: { data: workflowExamples.workflow } },
  }),
  defineRoute({
    operationId: 'cancelWorkflow',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/workflows/{id}/cancel',
    auth: 'user',
    scope: 'write',
    tag: 'workflows',
    summary: 'Cancel a running workflow',
    description:
      'No further step starts, and pending steps fail. Running steps are stopped: they fail within seconds, each with a ' +
      '`message.updated` event. The agent does not report the results.',
    extension: true,
    params: workflow,
    responses: noContent,
    errors: ['workflow_not_running'],
    example: { params: workflowExamples.inWorkflow },
  }),
] as const;
