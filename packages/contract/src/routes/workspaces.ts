import { z } from 'zod';
import { DURABLE_EVENTS } from '../events/server.js';
import {
  AgentDetails,
  AgentMemory,
  AgentMemoryList,
  AgentSettings,
  AgentSummary,
  AgentTool,
  CreateMemoryBody,
  UpdateAgentSettingsBody,
} from '../resources/agent.js';
import { MessagePage } from '../resources/message.js';
import { data } from '../resources/primitives.js';
import { WorkspaceUsage } from '../resources/user.js';
import { Workspace } from '../resources/workspace.js';
import { created, defineRoute, id, idempotencyKey, noContent, ok, text } from './define.js';
import { pageQuery } from './pages.js';

const workspaceName = z.string().trim().min(1).max(100);
const workspace = { id: id('workspace_not_found') };
const agent = { id: id('agent_not_found') };

/** A durable event as the socket would have sent it; see the AsyncAPI document for the payloads. */
const ReplayedEvent = z
  .strictObject({
    seq: z.int().positive(),
    event: z.enum(DURABLE_EVENTS),
    payload: z.record(z.string(), z.unknown()).meta({
      description:
        'The same payload as on the socket, with the current state of the resource. For a deleted resource: `{workspace_id, seq, deleted: true, id}`.',
    }),
  })
  .meta({ id: 'ReplayedEvent' });
export type ReplayedEvent = z.output<typeof ReplayedEvent>;

/** spec: orchestrator §4.3, the routes of a workspace */
export const workspaceRoutes = [
  defineRoute({
    operationId: 'listWorkspaces',
    method: 'get',
    path: '/v1/workspaces',
    auth: 'user',
    tag: 'workspaces',
    summary: 'List workspaces',
    spec: 'orchestrator §4.3',
    responses: ok(data(z.array(Workspace))),
  }),
  defineRoute({
    operationId: 'createWorkspace',
    method: 'post',
    path: '/v1/workspaces',
    auth: 'user',
    tag: 'workspaces',
    summary: 'Create a workspace',
    spec: 'extension',
    headers: idempotencyKey,
    body: z.object({ name: workspaceName }).meta({ id: 'CreateWorkspaceBody' }),
    responses: created(data(Workspace)),
    errors: ['workspace_limit_reached', 'idempotency_key_reused'],
  }),
  defineRoute({
    operationId: 'getWorkspace',
    method: 'get',
    path: '/v1/workspaces/{id}',
    auth: 'user',
    tag: 'workspaces',
    summary: 'Get a workspace with the state of its runtime',
    spec: 'orchestrator §4.3',
    params: workspace,
    responses: ok(data(Workspace)),
  }),
  defineRoute({
    operationId: 'updateWorkspace',
    method: 'patch',
    path: '/v1/workspaces/{id}',
    auth: 'user',
    tag: 'workspaces',
    summary: 'Rename a workspace',
    spec: 'extension',
    params: workspace,
    body: z.object({ name: workspaceName }).partial().meta({ id: 'UpdateWorkspaceBody' }),
    responses: ok(data(Workspace)),
  }),
  defineRoute({
    operationId: 'deleteWorkspace',
    method: 'delete',
    path: '/v1/workspaces/{id}',
    auth: 'user',
    tag: 'workspaces',
    summary: 'Delete a workspace with all its data',
    spec: 'extension',
    params: workspace,
    responses: noContent,
  }),
  defineRoute({
    operationId: 'getWorkspaceUsage',
    method: 'get',
    path: '/v1/workspaces/{id}/usage',
    auth: 'user',
    tag: 'workspaces',
    summary: 'Get the current-month usage of a workspace',
    spec: 'orchestrator §4.3',
    params: workspace,
    responses: ok(data(WorkspaceUsage)),
  }),
  defineRoute({
    operationId: 'listWorkspaceEvents',
    method: 'get',
    path: '/v1/workspaces/{id}/events',
    auth: 'user',
    tag: 'workspaces',
    summary: 'List the durable events after a sequence, in order and without gaps, up to 500 per response',
    spec: 'extension',
    params: workspace,
    query: z.object({ since: z.coerce.number().int().nonnegative().default(0) }),
    responses: ok(
      z.strictObject({
        data: z.array(ReplayedEvent),
        has_next: z.boolean().meta({ description: 'Whether there are more events after the last one.' }),
      }),
    ),
    errors: ['resync_required'],
  }),
  defineRoute({
    operationId: 'listAgents',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/agents',
    auth: 'user',
    tag: 'agents',
    summary: 'List the agents of a workspace',
    spec: 'orchestrator §4.3',
    params: { workspaceId: id('workspace_not_found') },
    responses: ok(data(z.array(AgentSummary))),
  }),
] as const;

/** spec: orchestrator §4.3, the routes of an agent */
export const agentRoutes = [
  defineRoute({
    operationId: 'getAgent',
    method: 'get',
    path: '/v1/agents/{id}',
    auth: 'user',
    tag: 'agents',
    summary: 'Get an agent',
    spec: 'orchestrator §4.3',
    params: agent,
    responses: ok(data(AgentSummary)),
  }),
  defineRoute({
    operationId: 'getAgentDetails',
    method: 'get',
    path: '/v1/agents/{id}/details',
    auth: 'user',
    tag: 'agents',
    summary: 'Get an agent with description, skills and statistics',
    spec: 'orchestrator §4.3',
    params: agent,
    responses: ok(data(AgentDetails)),
  }),
  defineRoute({
    operationId: 'getAgentHistory',
    method: 'get',
    path: '/v1/agents/{id}/history',
    auth: 'user',
    tag: 'agents',
    summary: 'List the messages of the conversations with an agent',
    description:
      'Includes only conversations of type `agent` with this agent. Messages that it wrote in a conversation with the ' +
      'swarm are listed in that conversation.',
    spec: 'orchestrator §4.3',
    params: agent,
    query: pageQuery,
    responses: ok(MessagePage),
    errors: ['cursor_invalid'],
  }),
  defineRoute({
    operationId: 'getAgentSettings',
    method: 'get',
    path: '/v1/agents/{id}/settings',
    auth: 'user',
    tag: 'agents',
    summary: 'Get the settings of an agent',
    spec: 'orchestrator §4.3',
    params: agent,
    responses: ok(data(AgentSettings)),
  }),
  defineRoute({
    operationId: 'updateAgentSettings',
    method: 'patch',
    path: '/v1/agents/{id}/settings',
    auth: 'user',
    tag: 'agents',
    summary: 'Update the settings of an agent',
    spec: 'extension',
    params: agent,
    body: UpdateAgentSettingsBody,
    responses: ok(data(AgentSettings)),
  }),
  defineRoute({
    operationId: 'listAgentTools',
    method: 'get',
    path: '/v1/agents/{id}/tools',
    auth: 'user',
    tag: 'agents',
    summary: 'List the tools of an agent',
    spec: 'orchestrator §4.3',
    params: agent,
    responses: ok(data(z.array(AgentTool))),
  }),
  defineRoute({
    operationId: 'updateAgentTool',
    method: 'patch',
    path: '/v1/agents/{id}/tools/{name}',
    auth: 'user',
    tag: 'agents',
    summary: 'Enable or disable a tool',
    spec: 'extension',
    params: { ...agent, name: text },
    body: z.object({ enabled: z.boolean() }).meta({ id: 'UpdateAgentToolBody' }),
    responses: ok(data(AgentTool)),
    errors: ['tool_not_found'],
  }),
  defineRoute({
    operationId: 'listAgentMemories',
    method: 'get',
    path: '/v1/agents/{id}/memories',
    auth: 'user',
    tag: 'agents',
    summary: 'List memories',
    spec: 'orchestrator §4.3',
    params: agent,
    query: z.object({
      category: z.string().max(100).optional(),
      scrollId: z
        .string()
        .max(4_096)
        .optional()
        .meta({ description: 'The `next_scroll_id` of the previous response.', 'x-extension': true }),
    }),
    responses: ok(AgentMemoryList),
    errors: ['cursor_invalid'],
  }),
  defineRoute({
    operationId: 'createAgentMemory',
    method: 'post',
    path: '/v1/agents/{id}/memories',
    auth: 'user',
    tag: 'agents',
    summary: 'Create or replace a memory; with `Prefer: return=minimal` the response is 204',
    spec: 'orchestrator §4.3',
    params: agent,
    headers: z.object({
      prefer: z
        .string()
        .optional()
        .meta({ description: 'With `return=minimal` the response is 204 without the memory.' }),
    }),
    body: CreateMemoryBody,
    responses: { ...ok(data(AgentMemory)), ...noContent },
    errors: ['memory_limit_reached', 'memory_too_large'],
  }),
  defineRoute({
    operationId: 'deleteAgentMemory',
    method: 'delete',
    path: '/v1/agents/{id}/memories/{key}',
    auth: 'user',
    tag: 'agents',
    summary: 'Delete a memory',
    spec: 'orchestrator §4.3',
    params: { ...agent, key: text },
    responses: noContent,
    errors: ['memory_not_found'],
  }),
] as const;
