import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { type CurrentStatus, currentActivity, expiresInMs } from './agent-status.store.js';
import type { AgentDetailsRow, AgentRow } from './agent-view.js';
import { insertAgents, type NewAgent } from './agent-rows.js';

/** Sent to the runtime. */
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
  statuses(workspaceId: string): Promise<CurrentStatus[]>;
  isOwnedBy(agentId: string, userId: string): Promise<boolean>;
  find(userId: string, agentId: string): Promise<AgentRow | undefined>;
  findDetails(userId: string, agentId: string): Promise<AgentDetailsRow | undefined>;
  members(workspaceId: string, db?: Database): Promise<SwarmMember[]>;
  slug(agentId: string, db: Database): Promise<string | undefined>;
}

export const MEMBER = sql<SwarmMember>`jsonb_build_object(
  'id', m.id, 'slug', m.slug, 'name', m.name, 'kind', m.kind, 'description', m.description, 'skills', m.skills
)`;

/** Requires the aliases `a` (the agent) and `r` (its workspace's runtime). */
const AGENT_COLUMNS = [
  'a.id',
  'a.name',
  'a.role',
  'a.kind',
  'a.slug',
  'a.avatar_url',
  currentActivity('a').as('activity'),
  'r.phase',
  'r.silent_since',
] as const;

export function createAgentStore(database: Database): AgentStore {
  /** Selects the agent as `a`, its workspace as `w` and its runtime as `r`. */
  const owned = (userId: string, agentId: string) =>
    database
      .selectFrom('agents as a')
      .innerJoin('workspaces as w', 'w.id', 'a.workspace_id')
      .leftJoin('runtimes as r', 'r.workspace_id', 'a.workspace_id')
      .where('a.id', '=', agentId)
      .where('w.owner_id', '=', userId);

  return {
    insertAll: insertAgents,

    list: (workspaceId) =>
      database
        .selectFrom('agents as a')
        .leftJoin('runtimes as r', 'r.workspace_id', 'a.workspace_id')
        .select(AGENT_COLUMNS)
        .where('a.workspace_id', '=', workspaceId)
        .orderBy('a.sort_order')
        .execute(),

    statuses: (workspaceId) =>
      database
        .selectFrom('agents as a')
        .select(['a.id as agentId', currentActivity('a').as('activity'), expiresInMs('a').as('expiresInMs')])
        .where('a.workspace_id', '=', workspaceId)
        .orderBy('a.sort_order')
        .execute(),

    isOwnedBy: async (agentId, userId) =>
      (await owned(userId, agentId).select('a.id').executeTakeFirst()) !== undefined,

    find: (userId, agentId) => owned(userId, agentId).select(AGENT_COLUMNS).executeTakeFirst(),

    findDetails: (userId, agentId) =>
      owned(userId, agentId)
        .select([...AGENT_COLUMNS, 'a.workspace_id', 'a.description', 'a.skills', 'a.sort_order'])
        .select(['a.created_at', 'a.updated_at'])
        .select([
          sql<number>`(SELECT count(*) FROM messages m WHERE m.agent_id = a.id)`.as('messages'),
          // The fuller of the two limits.
          sql<number>`greatest(
            (SELECT count(*) FROM agent_memories m WHERE m.agent_id = a.id AND m.workspace_id IS NULL),
            (SELECT count(*) FROM agent_memories m WHERE m.workspace_id = a.workspace_id)
          )`.as('memories'),
        ])
        .executeTakeFirst(),

    members: (workspaceId, db = database) =>
      db
        .selectFrom('agents')
        .select(['id', 'slug', 'name', 'kind', 'description', 'skills'])
        .where('workspace_id', '=', workspaceId)
        .orderBy('sort_order')
        .execute(),

    async slug(agentId, db) {
      const row = await db.selectFrom('agents').select('slug').where('id', '=', agentId).executeTakeFirst();
      return row?.slug;
    },
  };
}
