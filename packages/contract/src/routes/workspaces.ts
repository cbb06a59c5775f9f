import { z } from 'zod';
import { LIMITS } from '../limits.js';
import { data } from '../resources/primitives.js';
import { Workspace } from '../resources/workspace.js';
import { created, defineRoute, id, idempotencyKey, noContent, ok } from './define.js';
import * as examples from './examples.js';

const workspaceName = z.string().trim().min(1).max(100).meta({
  description: 'What the user calls it, 1 to 100 characters without the whitespace around it.',
});
const workspace = { id: id('workspace_not_found') };

export const workspaceRoutes = [
  defineRoute({
    operationId: 'listWorkspaces',
    method: 'get',
    path: '/v1/workspaces',
    auth: 'user',
    scope: 'read',
    reach: 'listed',
    tag: 'workspaces',
    summary: 'List workspaces',
    description: 'Oldest first. The list is short, so it has no pages.',
    responses: ok(data(z.array(Workspace))),
    example: { answer: { data: [examples.workspace] } },
  }),
  defineRoute({
    operationId: 'createWorkspace',
    method: 'post',
    path: '/v1/workspaces',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'workspaces',
    summary: 'Create a workspace',
    description: `A user has up to ${LIMITS.workspacesPerUser}. Its agents start in the background; \`workspace.updated\` reports it.`,
    extension: true,
    headers: idempotencyKey,
    body: z
      .object({ name: workspaceName })
      .meta({ id: 'CreateWorkspaceBody', description: 'What a new workspace needs.' }),
    responses: created(data(Workspace)),
    errors: ['workspace_limit_reached', 'idempotency_key_reused'],
    example: { body: { workspace: { name: 'Garden' } }, answer: { data: { ...examples.workspace, name: 'Garden' } } },
  }),
  defineRoute({
    operationId: 'getWorkspace',
    method: 'get',
    path: '/v1/workspaces/{id}',
    auth: 'user',
    scope: 'read',
    tag: 'workspaces',
    summary: 'Get a workspace with the state of its runtime',
    description: 'The same as in the list.',
    params: workspace,
    position: { of: 'workspace', parameter: 'id' },
    responses: ok(data(Workspace)),
    example: { params: examples.ofWorkspace, answer: { data: examples.workspace } },
  }),
  defineRoute({
    operationId: 'updateWorkspace',
    method: 'patch',
    path: '/v1/workspaces/{id}',
    auth: 'user',
    scope: 'write',
    tag: 'workspaces',
    summary: 'Rename a workspace',
    description: 'Clients receive `workspace.updated`.',
    extension: true,
    params: workspace,
    body: z
      .object({ name: workspaceName })
      .partial()
      .meta({ id: 'UpdateWorkspaceBody', description: 'A new name. Without the field nothing changes.' }),
    responses: ok(data(Workspace)),
    example: {
      params: examples.ofWorkspace,
      body: { name: { name: 'Garden' } },
      answer: { data: { ...examples.workspace, name: 'Garden' } },
    },
  }),
  defineRoute({
    operationId: 'deleteWorkspace',
    method: 'delete',
    path: '/v1/workspaces/{id}',
    auth: 'user',
    scope: 'write',
    tag: 'workspaces',
    summary: 'Delete a workspace with all its data',
    description:
      'Stops its agents and deletes conversations, memories and artifacts. It cannot be undone. Receipts remain.',
    extension: true,
    params: workspace,
    responses: noContent,
    example: { params: examples.ofWorkspace },
  }),
] as const;
