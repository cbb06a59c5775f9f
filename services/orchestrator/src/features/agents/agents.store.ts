import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { AgentActivity } from '../../database/schema.js';
import type { AgentTemplate } from '../core/catalog.js';
import type { AgentRow } from './agent-view.js';

export interface NewAgent extends AgentTemplate {
  id: string;
  sortOrder: number;
}

/** What the runtime is told about an agent. */
export interface SwarmMember {
  id: string;
  slug: string;
  name: string;
  kind: 'manager' | 'sub-agent';
  description: string;
  skills: string[];
}

export interface AgentStore {
  insertAll(workspaceId: string, agents: readonly NewAgent[], db: Database): Promise<void>;
  list(workspaceId: string): Promise<AgentRow[]>;
  members(workspaceId: string, db?: Database): Promise<SwarmMember[]>;
  setActivity(agentId: string, activity: AgentActivity, db?: Database): Promise<void>;
}

/** The columns of AgentRow, with `a` the agent and `r` the runtime of its workspace. */
const AGENT_COLUMNS = [
  'a.id',
  'a.name',
  'a.role',
  'a.kind',
  'a.slug',
  'a.avatar_url',
  'a.activity',
  'r.phase',
  'r.identified_at',
] as const;

export function createAgentStore(database: Database): AgentStore {
  return {
    async insertAll(workspaceId, agents, db) {
      await db
        .insertInto('agents')
        .values(
          agents.map((agent) => ({
            id: agent.id,
            workspace_id: workspaceId,
            slug: agent.slug,
            name: agent.name,
            role: agent.role,
            kind: agent.kind,
            description: agent.description,
            avatar_url: '',
            skills: agent.skills,
            sort_order: agent.sortOrder,
          })),
        )
        .execute();
    },

    list: (workspaceId) =>
      database
        .selectFrom('agents as a')
        .leftJoin('runtimes as r', 'r.workspace_id', 'a.workspace_id')
        .select(AGENT_COLUMNS)
        .where('a.workspace_id', '=', workspaceId)
        .orderBy('a.sort_order')
        .execute(),

    members: (workspaceId, db = database) =>
      db
        .selectFrom('agents')
        .select(['id', 'slug', 'name', 'kind', 'description', 'skills'])
        .where('workspace_id', '=', workspaceId)
        .orderBy('sort_order')
        .execute(),

    async setActivity(agentId, activity, db = database) {
      await db
        .updateTable('agents')
        .set({ activity, updated_at: sql<Date>`now()` })
        .where('id', '=', agentId)
        .where('activity', '!=', activity)
        .execute();
    },
  };
}
