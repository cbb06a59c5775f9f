import type { AgentModel, AgentPrompt, ResponseLength, UpdateAgentSettingsBody } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { MEMBER, type SwarmMember } from './agents.store.js';
import type { ToolSetting, ToolSettings } from './agent-tools.js';
import { updateAgentSettings } from './agent-rows.js';

export interface AgentSettingsRow {
  kind: SwarmMember['kind'];
  /** Null if its kind's default applies. */
  model: AgentModel | null;
  response_length: ResponseLength;
  prompts: AgentPrompt[];
  toolSettings: ToolSettings;
  hasMemories: boolean;
  members: SwarmMember[];
}

export interface AgentSettingsStore {
  find(userId: string, agentId: string): Promise<AgentSettingsRow | undefined>;
  /** Does not check the owner: for turns. */
  ofAgent(agentId: string): Promise<AgentSettingsRow | undefined>;
  /** Changes the fields that are present. @returns false if the user has no such agent */
  update(userId: string, agentId: string, change: UpdateAgentSettingsBody): Promise<boolean>;
  /** A null permission does not change. @returns false if the user has no such agent */
  setTool(userId: string, agentId: string, name: string, setting: ToolSetting): Promise<boolean>;
}

/** Restricts agents `a` to one of the user's agents. */
const ownAgent = (userId: string, agentId: string): RawBuilder<unknown> => sql`
  a.id = ${agentId} AND EXISTS (SELECT 1 FROM workspaces w WHERE w.id = a.workspace_id AND w.owner_id = ${userId})`;

export function createAgentSettingsStore(database: Database): AgentSettingsStore {
  async function select(where: RawBuilder<unknown>): Promise<AgentSettingsRow | undefined> {
    const { rows } = await sql<AgentSettingsRow>`
      SELECT a.kind, a.model, a.response_length, a.prompts, coalesce(
        (SELECT jsonb_object_agg(t.name, jsonb_build_object('enabled', t.enabled, 'permission', t.permission))
          FROM agent_tools t WHERE t.agent_id = a.id), '{}'
      ) AS "toolSettings", (EXISTS (SELECT FROM agent_memories m WHERE m.agent_id = a.id)
          OR EXISTS (SELECT FROM agent_memories m WHERE m.workspace_id = a.workspace_id)) AS "hasMemories",
        (SELECT jsonb_agg(${MEMBER} ORDER BY m.sort_order) FROM agents m WHERE m.workspace_id = a.workspace_id) AS members
      FROM agents a WHERE ${where}`.execute(database);
    return rows[0];
  }

  return {
    find: (userId, agentId) => select(ownAgent(userId, agentId)),

    ofAgent: (agentId) => select(sql`a.id = ${agentId}`),

    update: (userId, agentId, change) => updateAgentSettings(ownAgent(userId, agentId), change, database),

    async setTool(userId, agentId, name, { enabled, permission }) {
      // The lock prevents the agent's deletion until the row that references it is inserted.
      const { numAffectedRows } = await sql`
        INSERT INTO agent_tools (agent_id, name, enabled, permission)
        SELECT a.id, ${name}, ${enabled}, ${permission}::text FROM agents a WHERE ${ownAgent(userId, agentId)} FOR KEY SHARE OF a
        ON CONFLICT (agent_id, name) DO UPDATE SET enabled = excluded.enabled,
          permission = coalesce(excluded.permission, agent_tools.permission), updated_at = now()`.execute(database);
      return numAffectedRows !== undefined && numAffectedRows > 0n;
    },
  };
}
