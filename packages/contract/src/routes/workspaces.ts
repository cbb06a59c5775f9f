import { z } from 'zod';
import { data } from '../resources/primitives.js';
import { Workspace } from '../resources/workspace.js';
import { created, defineRoute, id, idempotencyKey, noContent, ok } from './define.js';
import * as examples from './examples.js';

const workspaceName = z.string().trim().min(1).max(100);
const workspace = { id: id('workspace_not_found') };

export const workspaceRoutes = [
  defineRoute({
    operationId: 'listWorkspaces',
    method: 'get',
    path: '/v1/workspaces',
    auth: 'user',
    tag: 'workspaces',
    summary: 'List workspaces',
    responses: ok(data(z.array(Workspace))),
    example: { answer: { data: [examples.workspace] } },
  }),
  defineRoute({
    operationId: 'createWorkspace',
    method: 'post',
    path: '/v1/workspaces',
    auth: 'user',
    tag: 'workspaces',
    summary: 'Create a workspace',
    extension: true,
    headers: idempotencyKey,
    body: z.object({ name: workspaceName }).meta({ id: 'CreateWorkspaceBody' }),
    responses: created(data(Workspace)),
    errors: ['workspace_limit_reached', 'idempotency_key_reused'],
    example: { body: { workspace: { name: 'Garden' } }, answer: { data: { ...examples.workspace, name: 'Garden' } } },
  }),
  defineRoute({
    operationId: 'getWorkspace',
    method: 'get',
    path: '/v1/workspaces/{id}',
    auth: 'user',
    tag: 'workspaces',
    summary: 'Get a workspace with the state of its runtime',
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
    tag: 'workspaces',
    summary: 'Rename a workspace',
    extension: true,
    params: workspace,
    body: z.object({ name: workspaceName }).partial().meta({ id: 'UpdateWorkspaceBody' }),
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
    tag: 'workspaces',
    summary: 'Delete a workspace with all its data',
    extension: true,
    params: workspace,
    responses: noContent,
    example: { params: examples.ofWorkspace },
  }),
] as const;
