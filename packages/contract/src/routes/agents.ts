import { z } from 'zod';
import {
  AgentDetails,
  AgentMemory,
  AgentMemoryList,
  AgentSettings,
  AgentSummary,
  AgentTool,
  CreateAgentBody,
  CreateMemoryBody,
  UpdateAgentBody,
  UpdateAgentSettingsBody,
  UpdateAgentToolBody,
  UpdateMemoryBody,
} from '../resources/agent.js';
import { MessagePage } from '../resources/message.js';
import { data } from '../resources/primitives.js';
import { created, defineRoute, id, idempotencyKey, noContent, ok, text } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';
import { LIMITS } from '../limits.js';
import { pageQuery } from './pages.js';

const agent = { id: id('agent_not_found') };
const memoryKey = text('The `key` of a memory, percent-encoded.');

const details: AgentDetails = {
  id: EXAMPLE.agentId,
  workspace_id: EXAMPLE.workspaceId,
  name: 'Researcher',
  role: 'Researcher',
  slug: 'researcher',
  created_at: examples.workspace.created_at,
  updated_at: null,
  description: 'Finds facts on the web and names the sources.',
  avatar_url: '',
  status: 'online',
  sort_order: 1,
  skills: ['web_search', 'fact_check', 'news', 'sources'],
  stats: { total_messages: 12, memory_used_pct: 1 },
};

export const agentRoutes = [
  defineRoute({
    operationId: 'listAgents',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/agents',
    auth: 'user',
    scope: 'read',
    tag: 'agents',
    summary: 'List the agents of a workspace',
    description: 'The manager comes first, then the others by `sort_order`.',
    params: { workspaceId: id('workspace_not_found') },
    position: { of: 'workspace', parameter: 'workspaceId' },
    responses: ok(data(z.array(AgentSummary))),
    example: { params: examples.inWorkspace, answer: { data: [examples.agentSummary] } },
  }),
  defineRoute({
    operationId: 'createAgent',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/agents',
    auth: 'user',
    scope: 'write',
    tag: 'agents',
    summary: 'Add an agent to a workspace',
    description:
      `A workspace has up to ${LIMITS.subAgents} agents besides the manager. The agent's \`slug\` is derived from the name and never ` +
      'changes, nor does another agent of the workspace get it later. Other agents know the new one from their next answer on. ' +
      'Clients receive `workspace.updated` with another `agents_rev`.',
    extension: true,
    params: { workspaceId: id('workspace_not_found') },
    headers: idempotencyKey,
    body: CreateAgentBody,
    responses: created(data(AgentDetails)),
    errors: ['agent_limit_reached', 'tool_not_found', 'permission_not_supported', 'idempotency_key_reused'],
    example: {
      params: examples.inWorkspace,
      body: {
        name: { name: 'Tax adviser' },
        all: {
          name: 'Tax adviser',
          role: 'Tax adviser',
          description: 'Knows tax law, and names the paragraphs.',
          skills: ['analysis', 'sources'],
          avatar_url: 'https://example.com/tax.png',
          ...examples.settings,
          tools: [{ name: examples.tool.name, permission: 'deny' }],
        },
      },
      answer: { data: { ...details, stats: { total_messages: 0, memory_used_pct: 0 } } },
    },
  }),
  defineRoute({
    operationId: 'getAgent',
    method: 'get',
    path: '/v1/agents/{id}',
    auth: 'user',
    scope: 'read',
    tag: 'agents',
    summary: 'Get an agent',
    description: 'The short form, as in lists; `GET /v1/agents/{id}/details` has more.',
    params: agent,
    position: { of: 'agent', parameter: 'id' },
    responses: ok(data(AgentSummary)),
    example: { params: examples.ofAgent, answer: { data: examples.agentSummary } },
  }),
  defineRoute({
    operationId: 'getAgentDetails',
    method: 'get',
    path: '/v1/agents/{id}/details',
    auth: 'user',
    scope: 'read',
    tag: 'agents',
    summary: 'Get an agent with description, skills and statistics',
    description: 'What a profile page needs. The statistics are counted when they are read.',
    params: agent,
    position: { of: 'agent', parameter: 'id' },
    responses: ok(data(AgentDetails)),
    example: {
      params: examples.ofAgent,
      answer: { data: details },
    },
  }),
  defineRoute({
    operationId: 'updateAgent',
    method: 'patch',
    path: '/v1/agents/{id}',
    auth: 'user',
    scope: 'write',
    tag: 'agents',
    summary: 'Rename or describe an agent',
    description:
      'Also the manager. Fields that are absent do not change. The `slug` stays, so mentions and links of the old name work. ' +
      'Clients receive `workspace.updated` with another `agents_rev`, and `conversation.updated` for each conversation with the agent.',
    extension: true,
    params: agent,
    body: UpdateAgentBody,
    responses: ok(data(AgentDetails)),
    example: {
      params: examples.ofAgent,
      body: {
        name: { name: 'Researcher' },
        all: {
          name: 'Researcher',
          role: 'Researcher',
          description: 'Finds facts on the web and names the sources.',
          skills: ['web_search', 'fact_check', 'news', 'sources'],
          avatar_url: '',
        },
      },
      answer: { data: details },
    },
  }),
  defineRoute({
    operationId: 'deleteAgent',
    method: 'delete',
    path: '/v1/agents/{id}',
    auth: 'user',
    scope: 'write',
    tag: 'agents',
    summary: 'Delete an agent',
    description:
      'Not the manager. Its unfinished answers and tasks are stopped, and its open cards withdrawn. What it wrote stays, with name and ' +
      'picture; conversations with it are read-only: sending to them fails with `agent_deleted`. It cannot be undone. Clients receive ' +
      '`workspace.updated` with another `agents_rev`, and `conversation.updated` for each conversation with the agent.',
    extension: true,
    params: agent,
    responses: noContent,
    errors: ['agent_is_manager'],
    example: { params: examples.ofAgent },
  }),
  defineRoute({
    operationId: 'getAgentHistory',
    method: 'get',
    path: '/v1/agents/{id}/history',
    auth: 'user',
    scope: 'read',
    tag: 'agents',
    summary: 'List the messages of the conversations with an agent',
    description:
      'Includes only conversations of type `agent` with this agent. Messages that it wrote in a conversation with the ' +
      'swarm are listed in that conversation.',
    params: agent,
    query: pageQuery,
    position: { of: 'agent', parameter: 'id' },
    responses: ok(MessagePage),
    errors: ['cursor_invalid'],
    example: {
      params: examples.ofAgent,
      query: { limit: 20 },
      answer: { data: [examples.listedMessage], pagination: examples.lastPage },
    },
  }),
  defineRoute({
    operationId: 'getAgentSettings',
    method: 'get',
    path: '/v1/agents/{id}/settings',
    auth: 'user',
    scope: 'read',
    tag: 'agents',
    summary: 'Get the settings of an agent',
    description: 'Model, length of answers, and permanent instructions of the user.',
    params: agent,
    responses: ok(data(AgentSettings)),
    example: { params: examples.ofAgent, answer: { data: examples.settings } },
  }),
  defineRoute({
    operationId: 'updateAgentSettings',
    method: 'patch',
    path: '/v1/agents/{id}/settings',
    auth: 'user',
    scope: 'write',
    tag: 'agents',
    summary: 'Update the settings of an agent',
    description: 'Fields that are absent do not change; `prompts` replaces all prompts.',
    extension: true,
    params: agent,
    body: UpdateAgentSettingsBody,
    responses: ok(data(AgentSettings)),
    example: {
      params: examples.ofAgent,
      body: { all: examples.settings, model: { model: 'sonnet' } },
      answer: { data: examples.settings },
    },
  }),
  defineRoute({
    operationId: 'listAgentTools',
    method: 'get',
    path: '/v1/agents/{id}/tools',
    auth: 'user',
    scope: 'read',
    tag: 'agents',
    summary: 'List the tools of an agent',
    description: 'All tools that this installation has, with the choice of the user for this agent.',
    params: agent,
    responses: ok(data(z.array(AgentTool))),
    example: { params: examples.ofAgent, answer: { data: [examples.tool] } },
  }),
  defineRoute({
    operationId: 'updateAgentTool',
    method: 'patch',
    path: '/v1/agents/{id}/tools/{name}',
    auth: 'user',
    scope: 'write',
    tag: 'agents',
    summary: 'Enable or disable a tool, or let it ask before each call that changes something',
    description: 'Send either `enabled` or `permission`.',
    extension: true,
    params: { ...agent, name: text('The `name` of a tool of `GET /v1/agents/{id}/tools`.') },
    body: UpdateAgentToolBody,
    responses: ok(data(AgentTool)),
    errors: ['tool_not_found', 'tool_forced', 'permission_not_supported'],
    example: {
      params: { ...examples.ofAgent, name: examples.tool.name },
      body: { off: { enabled: false }, ask: { permission: 'ask' } },
      answer: { data: examples.tool },
    },
  }),
  defineRoute({
    operationId: 'listAgentMemories',
    method: 'get',
    path: '/v1/agents/{id}/memories',
    auth: 'user',
    scope: 'read',
    tag: 'agents',
    summary: 'List memories',
    description: 'Oldest first. A list above 1 MB continues with `next_scroll_id`.',
    params: agent,
    query: z.object({
      category: z.string().max(100).optional().meta({ description: 'Only memories of this group.' }),
      scrollId: z
        .string()
        .max(4_096)
        .regex(/^[\w.-]*$/)
        .optional()
        .meta({ description: 'The `next_scroll_id` of the previous response.', 'x-extension': true }),
    }),
    responses: ok(AgentMemoryList),
    errors: ['cursor_invalid'],
    example: { params: examples.ofAgent, query: { category: 'core' }, answer: { data: [examples.memory] } },
  }),
  defineRoute({
    operationId: 'createAgentMemory',
    method: 'post',
    path: '/v1/agents/{id}/memories',
    auth: 'user',
    scope: 'write',
    tag: 'agents',
    summary: 'Create or replace a memory; with `Prefer: return=minimal` the response is 204',
    description:
      'A memory with the same key is replaced. Agents take memories into account in all their conversations.',
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
    example: {
      params: examples.ofAgent,
      body: {
        memory: { key: examples.memory.key, content: examples.memory.content, category: 'core' },
        reduced: { key: examples.memory.key, content: examples.memory.content },
      },
      answer: { data: examples.memory },
    },
  }),
  defineRoute({
    operationId: 'updateAgentMemory',
    method: 'patch',
    path: '/v1/workspaces/{workspaceId}/agents/{agentId}/memories/{key}',
    auth: 'user',
    scope: 'write',
    tag: 'agents',
    summary: 'Edit a memory',
    description: 'Fields that are absent do not change. Agents replace a text of the user only if they repeat it.',
    extension: true,
    params: { workspaceId: id('workspace_not_found'), agentId: id('agent_not_found'), key: memoryKey },
    body: UpdateMemoryBody,
    responses: ok(data(AgentMemory)),
    errors: ['memory_not_found', 'memory_too_large', 'memory_limit_reached'],
    example: {
      params: { ...examples.inWorkspace, agentId: EXAMPLE.agentId, key: examples.memory.key },
      body: {
        content: { content: examples.memory.content },
        category: { category: 'core' },
        scope: { scope: 'agent' },
      },
      answer: { data: examples.memory },
    },
  }),
  defineRoute({
    operationId: 'deleteAgentMemory',
    method: 'delete',
    path: '/v1/agents/{id}/memories/{key}',
    auth: 'user',
    scope: 'write',
    tag: 'agents',
    summary: 'Delete a memory',
    description: 'The agent no longer takes it into account.',
    params: { ...agent, key: memoryKey },
    responses: noContent,
    errors: ['memory_not_found'],
    example: { params: { ...examples.ofAgent, key: examples.memory.key } },
  }),
] as const;
