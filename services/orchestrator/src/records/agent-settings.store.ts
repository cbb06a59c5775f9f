import type { AgentModel, AgentPrompt, ResponseLength } from '@uswarm/contract';
import { type Insertable, type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { AgentToolsTable } from '../platform/database/tables.js';
import { MEMBER, type SwarmMember } from './agents.store.js';
import type { ToolSetting, ToolSettings } from './agent-tools.js';
import { type AgentSettingsChange, updateAgentSettings } from './agent-rows.js';

export interface AgentSettingsRow {
  kind: SwarmMember['kind'];
  /** Null if its kind's default applies. */
  model: AgentModel | null;
  response_length: ResponseLength;
  prompts: AgentPrompt[];
  toolSettings: ToolSettings;
  hasMemories: boolean;
  members: SwarmMember[];
  /** An agent in the workspace has texts from others. Agents read each other's descriptions. */
  untrusted: boolean;
}

/** Restricts agents `a` to one of the user's agents. */
const ownAgent = (userId: string, agentId: string): RawBuilder<unknown> => sql`
  a.id = ${agentId} AND a.deleted_at IS NULL AND EXISTS (SELECT 1 FROM workspaces w WHERE w.id = a.workspace_id AND w.owner_id = ${userId})`;

async function select(db: Database, where: RawBuilder<unknown>): Promise<AgentSettingsRow | undefined> {
  const { rows } = await sql<AgentSettingsRow>`
    SELECT a.kind, a.model, a.response_length, a.prompts, coalesce(
      (SELECT jsonb_object_agg(t.name, jsonb_build_object('enabled', t.enabled, 'permission', t.permission))
        FROM agent_tools t WHERE t.agent_id = a.id), '{}'
    ) AS "toolSettings", (EXISTS (SELECT FROM agent_memories m WHERE m.agent_id = a.id)
        OR EXISTS (SELECT FROM agent_memories m WHERE m.workspace_id = a.workspace_id)) AS "hasMemories",
      (SELECT jsonb_agg(${MEMBER} ORDER BY m.sort_order) FROM agents m
        WHERE m.workspace_id = a.workspace_id AND m.deleted_at IS NULL) AS members,
      EXISTS (SELECT FROM agents m WHERE m.workspace_id = a.workspace_id AND m.deleted_at IS NULL AND m.untrusted) AS untrusted
    FROM agents a WHERE ${where}`.execute(db);
  return rows[0];
}

export function findAgentSettings(
  db: Database,
  userId: string,
  agentId: string,
): Promise<AgentSettingsRow | undefined> {
  return select(db, ownAgent(userId, agentId));
}

/** Does not check the owner: for turns. */
export function findSettingsOfAgent(db: Database, agentId: string): Promise<AgentSettingsRow | undefined> {
  return select(db, sql`a.id = ${agentId}`);
}

/** Changes the fields that are present. @returns false if the user has no such agent */
export function changeAgentSettings(
  db: Database,
  userId: string,
  agentId: string,
  change: AgentSettingsChange,
): Promise<boolean> {
  return updateAgentSettings(db, ownAgent(userId, agentId), change);
}

/** For an agent that the caller has just added. */
export async function insertAgentTools(
  db: Database,
  agentId: string,
  tools: readonly ({ name: string } & ToolSetting)[],
): Promise<void> {
  if (tools.length === 0) return;
  await db
    .insertInto('agent_tools')
    .values(tools.map(({ name, enabled, permission }) => ({ agent_id: agentId, name, enabled, permission })))
    .execute();
}

/** Of an imported workspace. */
export async function restoreAgentTools(db: Database, rows: readonly Insertable<AgentToolsTable>[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('agent_tools').values(rows).execute();
}

/** A null permission does not change. @returns false if the user has no such agent */
export async function setAgentTool(
  db: Database,
  userId: string,
  agentId: string,
  name: string,
  { enabled, permission }: ToolSetting,
): Promise<boolean> {
  // The lock prevents the agent's deletion until the row that references it is inserted.
  const { numAffectedRows } = await sql`
    INSERT INTO agent_tools (agent_id, name, enabled, permission)
    SELECT a.id, ${name}, ${enabled}, ${permission}::text FROM agents a WHERE ${ownAgent(userId, agentId)} FOR KEY SHARE OF a
    ON CONFLICT (agent_id, name) DO UPDATE SET enabled = excluded.enabled,
      permission = coalesce(excluded.permission, agent_tools.permission), updated_at = now()`.execute(db);
  return numAffectedRows !== undefined && numAffectedRows > 0n;
}
