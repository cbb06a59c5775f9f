import { randomUUIDv7 } from 'node:crypto';
import { type AgentDetails, ApiError, type CreateAgentBody, type UpdateAgentBody } from '@uswarm/contract';
import type { Tool } from '../../platform/core/catalog.js';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import { requiredLine, visibleLine } from '../../platform/http/visible-text.js';
import { type Idempotency, type KeyOwner, keyWithoutResult } from '../../platform/idempotency/idempotency.service.js';
import type { AgentDescription } from '../../records/agent-rows.js';
import { toolsForKind, toolSetting } from '../../records/agent-tools.js';
import { findWorkspaceOfAgent } from '../../records/agents.store.js';
import type { WorkspaceAccess } from '../workspace-access.js';
import type { AddedAgent, AgentChanges } from './agent-changes.js';
import type { AgentService } from './agents.service.js';

export interface OwnAgentServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  workspaces: WorkspaceAccess;
  idempotency: Pick<Idempotency, 'once'>;
  tools: readonly Tool[];
  changes: AgentChanges;
  agents: Pick<AgentService, 'details'>;
}

/** Agents that users add, describe and remove. */
export interface OwnAgentService {
  /**
   * @throws ApiError `workspace_not_found`, `agent_limit_reached`, `tool_not_found`, `permission_not_supported`,
   *   `idempotency_key_reused`
   */
  create(owner: KeyOwner, workspaceId: string, body: CreateAgentBody): Promise<AgentDetails>;
  /** @throws ApiError `agent_not_found` */
  update(userId: string, agentId: string, body: UpdateAgentBody): Promise<AgentDetails>;
  /** @throws ApiError `agent_not_found`, `agent_is_manager` */
  delete(userId: string, agentId: string): Promise<void>;
}

export function createOwnAgentService(deps: OwnAgentServiceDeps): OwnAgentService {
  const { withTransaction, database, workspaces, tools: catalog, changes, agents } = deps;

  function settingOf({ name, permission }: NonNullable<CreateAgentBody['tools']>[number]) {
    const entry = toolsForKind(catalog, 'sub-agent').find((each) => each.name === name);
    if (entry === undefined) throw new ApiError('tool_not_found');
    if (permission === 'ask' && !entry.changes) throw new ApiError('permission_not_supported');
    return { name, ...toolSetting({ permission }) };
  }

  function added(body: CreateAgentBody): AddedAgent {
    const name = requiredLine('name', body.name);
    return {
      name,
      role: visibleLine(body.role ?? '') || name,
      description: visibleLine(body.description ?? ''),
      skills: body.skills ?? [],
      avatarUrl: body.avatar_url,
      model: body.model,
      responseLength: body.response_length,
      prompts: body.prompts?.map((prompt) => ({ ...prompt, name: visibleLine(prompt.name) })),
      tools: (body.tools ?? []).map(settingOf),
    };
  }

  async function workspaceOf(userId: string, agentId: string): Promise<string> {
    const workspaceId = await findWorkspaceOfAgent(database, userId, agentId);
    if (workspaceId === undefined) throw new ApiError('agent_not_found');
    return workspaceId;
  }

  return {
    async create(owner, workspaceId, body) {
      const { userId } = owner;
      await workspaces.require(userId, workspaceId);
      const agent = added(body);
      const request = { ...owner, operation: 'createAgent', content: { workspaceId, ...agent } } as const;
      const id = await deps.idempotency.once(request, async (claim) => {
        const newId = randomUUIDv7();
        await withTransaction(async (tx) => {
          await claim(newId, tx);
          await changes.add(workspaceId, agent, tx, newId);
        });
        return newId;
      });
      try {
        return await agents.details(userId, id);
      } catch (error) {
        // The user has deleted what the first request with this key created.
        throw error instanceof ApiError && error.code === 'agent_not_found' ? keyWithoutResult() : error;
      }
    },

    async update(userId, agentId, body) {
      const before = await agents.details(userId, agentId);
      const change = describedChange(before, body);
      if (Object.keys(change).length > 0) {
        await withTransaction((tx) => changes.describe(before.workspace_id, agentId, change, tx));
      }
      return agents.details(userId, agentId);
    },

    async delete(userId, agentId) {
      const workspaceId = await workspaceOf(userId, agentId);
      await withTransaction((tx) => changes.remove(workspaceId, agentId, tx));
    },
  };
}

/** The columns that change. */
export function describedChange(
  { name: nameBefore }: Pick<AgentDetails, 'name'>,
  { name, role, description, avatar_url, skills }: UpdateAgentBody,
): Partial<AgentDescription> {
  const newName = name === undefined ? undefined : requiredLine('name', name);
  return {
    ...(newName === undefined ? {} : { name: newName }),
    ...(role === undefined ? {} : { role: visibleLine(role) || (newName ?? nameBefore) }),
    ...(description === undefined ? {} : { description: visibleLine(description) }),
    ...(avatar_url === undefined ? {} : { avatar_url }),
    ...(skills === undefined ? {} : { skills }),
  };
}
