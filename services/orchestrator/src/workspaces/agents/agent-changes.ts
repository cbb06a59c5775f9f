import { randomUUIDv7 } from 'node:crypto';
import {
  type AgentModel,
  type AgentPrompt,
  type AgentSkill,
  ApiError,
  LIMITS,
  type ResponseLength,
} from '@uswarm/contract';
import type { Transaction } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import { AGENT_REMOVAL_JOB } from '../../records/agent-removal-job.js';
import { type AgentDescription, describeAgent, insertAgents, markAgentDeleted } from '../../records/agent-rows.js';
import { insertAgentTools } from '../../records/agent-settings.store.js';
import type { ToolSetting } from '../../records/agent-tools.js';
import {
  type AgentEntry,
  listAllAgents,
  listConversationsOfAgent,
  listMembers,
  type SwarmMember,
} from '../../records/agents.store.js';
import type { EventLog } from '../../records/event-log.js';
import { reviseAgents } from '../../records/workspace-rows.js';
import { slugOf } from './agent-slug.js';

export interface AgentChangesDeps {
  events: Pick<EventLog, 'append' | 'lock'>;
  jobs: Pick<JobQueue, 'enqueue'>;
}

/** Cleaned and checked. */
export interface AddedAgent {
  name: string;
  role: string;
  description: string;
  skills: AgentSkill[];
  avatarUrl?: string | undefined;
  model?: AgentModel | undefined;
  responseLength?: ResponseLength | undefined;
  prompts?: readonly AgentPrompt[] | undefined;
  tools?: readonly ({ name: string } & ToolSetting)[];
}

/**
 * Changes a workspace's agents, for its owner or its manager. Each locks the workspace, checks, and only then
 * writes: after an error, the transaction can continue.
 */
export interface AgentChanges {
  /** Locks the workspace, and lists the agents that are not deleted. @throws ApiError `workspace_not_found` */
  members(workspaceId: string, tx: Transaction): Promise<SwarmMember[]>;
  /** @throws ApiError `workspace_not_found`, `agent_limit_reached` */
  add(workspaceId: string, agent: AddedAgent, tx: Transaction, id?: string): Promise<Pick<AgentEntry, 'id' | 'slug'>>;
  /** @throws ApiError `workspace_not_found`, `agent_not_found` */
  describe(workspaceId: string, agentId: string, change: Partial<AgentDescription>, tx: Transaction): Promise<void>;
  /**
   * A job stops the agent's turns and withdraws its cards.
   *
   * @throws ApiError `workspace_not_found`, `agent_not_found`, `agent_is_manager`
   */
  remove(workspaceId: string, agentId: string, tx: Transaction): Promise<void>;
}

export function createAgentChanges({ events, jobs }: AgentChangesDeps): AgentChanges {
  async function locked(workspaceId: string, tx: Transaction): Promise<AgentEntry[]> {
    await events.lock(workspaceId, tx);
    return listAllAgents(tx, workspaceId);
  }

  async function requireAgent(workspaceId: string, agentId: string, tx: Transaction): Promise<AgentEntry> {
    const agent = (await locked(workspaceId, tx)).find(({ id }) => id === agentId);
    if (agent === undefined || agent.isDeleted) throw new ApiError('agent_not_found');
    return agent;
  }

  /** Tells clients, before the agent's row changes: agents come last in the lock order. */
  async function announce(workspaceId: string, conversationIds: readonly string[], tx: Transaction): Promise<void> {
    await events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx);
    await reviseAgents(tx, workspaceId);
    for (const subjectId of conversationIds) {
      await events.append({ workspaceId, type: 'conversation.updated', subjectId }, tx);
    }
  }

  return {
    async members(workspaceId, tx) {
      await events.lock(workspaceId, tx);
      return listMembers(tx, workspaceId);
    },

    async add(workspaceId, { tools = [], ...agent }, tx, id = randomUUIDv7()) {
      const all = await locked(workspaceId, tx);
      const present = all.filter(({ kind, isDeleted }) => kind === 'sub-agent' && !isDeleted);
      if (present.length >= LIMITS.subAgents) throw new ApiError('agent_limit_reached');
      const slug = slugOf(agent.name, new Set(all.map((each) => each.slug)));
      const sortOrder = Math.max(...all.map((each) => each.sortOrder)) + 1;
      await announce(workspaceId, [], tx);
      await insertAgents(tx, workspaceId, [{ ...agent, id, slug, kind: 'sub-agent', sortOrder }]);
      await insertAgentTools(tx, id, tools);
      return { id, slug };
    },

    async describe(workspaceId, agentId, change, tx) {
      await requireAgent(workspaceId, agentId, tx);
      await announce(workspaceId, await listConversationsOfAgent(tx, agentId), tx);
      await describeAgent(tx, agentId, change);
    },

    async remove(workspaceId, agentId, tx) {
      const { kind } = await requireAgent(workspaceId, agentId, tx);
      if (kind === 'manager') throw new ApiError('agent_is_manager');
      await announce(workspaceId, await listConversationsOfAgent(tx, agentId), tx);
      await markAgentDeleted(tx, agentId);
      await jobs.enqueue({ kind: AGENT_REMOVAL_JOB, subjectId: agentId, workspaceId }, tx);
    },
  };
}
