import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { type CurrentStatus, currentActivity, expiresInMs } from './agent-status.store.js';
import type { AgentDetailsRow, AgentRow } from './agent-view.js';

/** Sent to the runtime. */
export interface SwarmMember {
  id: string;
  slug: string;
  name: string;
  kind: 'manager' | 'sub-agent';
  description: string;
  skills: string[];
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

/** Selects the agent as `a`, its workspace as `w` and its runtime as `r`. */
const owned = (db: Database, userId: string, agentId: string) =>
  db
    .selectFrom('agents as a')
    .innerJoin('workspaces as w', 'w.id', 'a.workspace_id')
    .leftJoin('runtimes as r', 'r.workspace_id', 'a.workspace_id')
    .where('a.id', '=', agentId)
    .where('a.deleted_at', 'is', null)
    .where('w.owner_id', '=', userId);

export function listAgents(db: Database, workspaceId: string): Promise<AgentRow[]> {
  return db
    .selectFrom('agents as a')
    .leftJoin('runtimes as r', 'r.workspace_id', 'a.workspace_id')
    .select(AGENT_COLUMNS)
    .where('a.workspace_id', '=', workspaceId)
    .where('a.deleted_at', 'is', null)
    .orderBy('a.sort_order')
    .execute();
}

export function listAgentStatuses(db: Database, workspaceId: string): Promise<CurrentStatus[]> {
  return db
    .selectFrom('agents as a')
    .select(['a.id as agentId', currentActivity('a').as('activity'), expiresInMs('a').as('expiresInMs')])
    .where('a.workspace_id', '=', workspaceId)
    .where('a.deleted_at', 'is', null)
    .orderBy('a.sort_order')
    .execute();
}

export async function isAgentOwnedBy(db: Database, agentId: string, userId: string): Promise<boolean> {
  return (await owned(db, userId, agentId).select('a.id').executeTakeFirst()) !== undefined;
}

export function findAgent(db: Database, userId: string, agentId: string): Promise<AgentRow | undefined> {
  return owned(db, userId, agentId).select(AGENT_COLUMNS).executeTakeFirst();
}

export function findAgentDetails(db: Database, userId: string, agentId: string): Promise<AgentDetailsRow | undefined> {
  return owned(db, userId, agentId)
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
    .executeTakeFirst();
}

export function listMembers(db: Database, workspaceId: string): Promise<SwarmMember[]> {
  return db
    .selectFrom('agents')
    .select(['id', 'slug', 'name', 'kind', 'description', 'skills'])
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .orderBy('sort_order')
    .execute();
}

export async function findManager(db: Database, workspaceId: string): Promise<string | undefined> {
  return (await listMembers(db, workspaceId)).find(({ kind }) => kind === 'manager')?.id;
}

export interface AgentEntry {
  id: string;
  slug: string;
  kind: SwarmMember['kind'];
  sortOrder: number;
  isDeleted: boolean;
}

/** Includes deleted agents, whose slugs stay taken. Call it while the workspace is locked. */
export function listAllAgents(db: Database, workspaceId: string): Promise<AgentEntry[]> {
  return db
    .selectFrom('agents')
    .select(['id', 'slug', 'kind', 'sort_order as sortOrder', sql<boolean>`deleted_at IS NOT NULL`.as('isDeleted')])
    .where('workspace_id', '=', workspaceId)
    .orderBy('sort_order')
    .execute();
}

/** Undefined if the user has deleted the agent. */
export async function findWorkspaceOfAgent(db: Database, userId: string, agentId: string): Promise<string | undefined> {
  return (await owned(db, userId, agentId).select('a.workspace_id').executeTakeFirst())?.workspace_id;
}

export async function isAgentDeleted(db: Database, agentId: string): Promise<boolean> {
  const row = await db.selectFrom('agents').select('deleted_at').where('id', '=', agentId).executeTakeFirst();
  return row === undefined || row.deleted_at !== null;
}

export async function listConversationsOfAgent(db: Database, agentId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('conversations')
    .select('id')
    .where('agent_id', '=', agentId)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

export async function findAgentSlug(db: Database, agentId: string): Promise<string | undefined> {
  const row = await db.selectFrom('agents').select('slug').where('id', '=', agentId).executeTakeFirst();
  return row?.slug;
}
