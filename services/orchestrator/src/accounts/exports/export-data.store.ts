import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { EXPORTED_MEMORY, memoriesOf } from '../../records/memories.store.js';
import { type ListPosition, listPosition } from '../../records/list-cursor.js';

/** Rows in the archive's format. */
type Rows = Promise<Record<string, unknown>[]>;

/** Other files in the archive refer to this row by id. */
export interface Listed {
  id: string;
  [field: string]: unknown;
}

/** The next page continues after this seq. */
export interface ExportedMessage {
  seq: number;
  data: Record<string, unknown>;
}

export interface ExportedVersion {
  id: string;
  version: number;
  objectId: string;
  data: Record<string, unknown>;
}

/** The next page continues after this position. */
export interface ExportedWorkflow {
  position: ListPosition;
  data: Record<string, unknown>;
}

/** Reads one user's data. Results never contain credentials, tokens or hashes. */
export interface ExportDataStore {
  devices(userId: string): Rows;
  legalAcceptances(userId: string): Rows;
  usage(userId: string): Rows;
  integrations(userId: string): Rows;
  uploads(userId: string): Promise<(Listed & { name: string })[]>;
  workspaces(userId: string): Promise<Listed[]>;
  agents(workspaceId: string): Promise<Listed[]>;
  tools(agentId: string): Rows;
  memories(agentId: string): Rows;
  conversations(workspaceId: string): Promise<Listed[]>;
  artifactVersions(workspaceId: string): Promise<ExportedVersion[]>;
  /** Includes steps. Oldest first, after a position. */
  workflows(workspaceId: string, after: ListPosition | undefined, limit: number): Promise<ExportedWorkflow[]>;
  /** Messages after the seq, oldest first. */
  messages(conversationId: string, afterSeq: number, limit: number): Promise<ExportedMessage[]>;
}

export function createExportDataStore(database: Database): ExportDataStore {
  const all = async <Row>(query: ReturnType<typeof sql<Row>>): Promise<Row[]> => (await query.execute(database)).rows;
  return {
    devices: (userId) =>
      all(sql`
        SELECT device_id, info, app_version, timezone, created_at, last_seen_at
        FROM devices WHERE user_id = ${userId} ORDER BY created_at, device_id`),

    legalAcceptances: (userId) =>
      all(sql`
        SELECT document, version, accepted_at
        FROM legal_acceptances WHERE user_id = ${userId} ORDER BY accepted_at, document`),

    usage: (userId) =>
      all(sql`
        SELECT period, workspace_id, prompt_tokens, completion_tokens, requests, cost_micros
        FROM usage_periods WHERE user_id = ${userId} ORDER BY period, workspace_id`),

    integrations: (userId) =>
      all(sql`
        SELECT id, provider, created_at, updated_at
        FROM integrations WHERE user_id = ${userId} ORDER BY provider`),

    uploads: (userId) =>
      all(sql`
        SELECT id, name, type, mime_type, size, duration, width, height, created_at
        FROM uploads WHERE user_id = ${userId} AND state = 'stored' ORDER BY created_at, id`),

    workspaces: (userId) =>
      all(sql`
        SELECT id, name, monthly_cost_micros, monthly_tokens, created_at, updated_at
        FROM workspaces WHERE owner_id = ${userId} ORDER BY created_at, id`),

    agents: (workspaceId) =>
      all(sql`
        SELECT id, slug, name, role, kind, description, skills, model, response_length, prompts, created_at, updated_at
        FROM agents WHERE workspace_id = ${workspaceId} ORDER BY sort_order`),

    tools: (agentId) =>
      all(sql`SELECT name, enabled, permission, updated_at FROM agent_tools WHERE agent_id = ${agentId} ORDER BY name`),

    memories: (agentId) =>
      all(sql`
        SELECT ${EXPORTED_MEMORY} FROM ${memoriesOf(agentId)} m ORDER BY key`),

    conversations: (workspaceId) =>
      all(sql`
        SELECT c.id, c.type, c.agent_id, c.title, c.muted, s.text AS summary, c.created_at, c.updated_at
        FROM conversations c LEFT JOIN conversation_summaries s ON s.conversation_id = c.id
        WHERE c.workspace_id = ${workspaceId} ORDER BY c.created_at, c.id`),

    async artifactVersions(workspaceId) {
      const rows = await all<Listed & { version: number; object_id: string }>(sql`
        SELECT a.id, a.conversation_id, v.version, v.title, v.status, v.agent_slug, v.size, v.created_at, v.object_id
        FROM artifacts a JOIN artifact_versions v ON v.artifact_id = a.id
        WHERE a.workspace_id = ${workspaceId} ORDER BY a.id, v.version`);
      return rows.map(({ object_id, ...data }) => ({
        id: data.id,
        version: data.version,
        objectId: object_id,
        data,
      }));
    },

    async workflows(workspaceId, after, limit) {
      const behind =
        after === undefined ? sql`` : sql`AND (w.created_at, w.id) > (${after.time}::timestamptz, ${after.key}::uuid)`;
      const rows = await all<Record<string, unknown> & { position: ListPosition }>(sql`
        SELECT w.id, w.conversation_id, w.message_id, w.name, a.slug AS agent_slug, w.status, w.created_at, w.finished_at,
          (
            SELECT jsonb_agg(
              jsonb_build_object(
                'step_id', s.step_id, 'name', s.name, 'agent_slug', b.slug, 'task', s.task, 'after', s.after,
                'status', s.status, 'result', s.result, 'started_at', s.started_at, 'finished_at', s.finished_at
              ) ORDER BY s.number
            ) FROM workflow_steps s JOIN agents b ON b.id = s.agent_id WHERE s.workflow_id = w.id
          ) AS steps,
          ${listPosition('w.created_at', 'w.id')} AS position
        FROM workflows w JOIN agents a ON a.id = w.agent_id
        WHERE w.workspace_id = ${workspaceId} ${behind}
        ORDER BY w.created_at, w.id LIMIT ${limit}`);
      return rows.map(({ position, ...data }) => ({ position, data }));
    },

    async messages(conversationId, afterSeq, limit) {
      const rows = await all<Record<string, unknown> & { seq: number }>(sql`
        SELECT m.seq, m.id, m.conversation_id, m.role, m.content, m.status, m.local_id, m.created_at, m.updated_at,
          m.mentions, m.attachments,
          CASE WHEN a.id IS NOT NULL THEN jsonb_build_object('id', a.id, 'name', a.name, 'slug', a.slug) END AS agent
        FROM messages m LEFT JOIN agents a ON a.id = m.agent_id
        WHERE m.conversation_id = ${conversationId} AND m.seq > ${afterSeq}
        ORDER BY m.seq LIMIT ${limit}`);
      return rows.map(({ seq, ...data }) => ({ seq, data }));
    },
  };
}
