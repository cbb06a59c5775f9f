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

const all = async <Row>(db: Database, query: ReturnType<typeof sql<Row>>): Promise<Row[]> =>
  (await query.execute(db)).rows;

export function exportDevices(db: Database, userId: string): Rows {
  return all(
    db,
    sql`
      SELECT device_id, info, app_version, timezone, created_at, last_seen_at
      FROM devices WHERE user_id = ${userId} ORDER BY created_at, device_id`,
  );
}

export function exportLegalAcceptances(db: Database, userId: string): Rows {
  return all(
    db,
    sql`
      SELECT document, version, accepted_at
      FROM legal_acceptances WHERE user_id = ${userId} ORDER BY accepted_at, document`,
  );
}

export function exportUsage(db: Database, userId: string): Rows {
  return all(
    db,
    sql`
      SELECT period, workspace_id, prompt_tokens, completion_tokens, requests, cost_micros
      FROM usage_periods WHERE user_id = ${userId} ORDER BY period, workspace_id`,
  );
}

export function exportIntegrations(db: Database, userId: string): Rows {
  return all(
    db,
    sql`
      SELECT id, provider, created_at, updated_at
      FROM integrations WHERE user_id = ${userId} ORDER BY provider`,
  );
}

export function exportApiTokens(db: Database, userId: string): Rows {
  return all(
    db,
    sql`
      SELECT id, name, scopes, workspace_ids, created_at, expires_at, last_used_at
      FROM api_tokens WHERE user_id = ${userId} ORDER BY created_at, id`,
  );
}

export function exportToolServers(db: Database, userId: string): Rows {
  return all(
    db,
    sql`
      SELECT id, name, url, auth, client_id, created_at
      FROM user_tool_servers WHERE user_id = ${userId} ORDER BY created_at, id`,
  );
}

export function exportWebhooks(db: Database, userId: string): Rows {
  return all(
    db,
    sql`
      SELECT h.id, h.workspace_id, h.url, h.description, h.events, h.state, h.created_at
      FROM webhooks h JOIN workspaces w ON w.id = h.workspace_id
      WHERE w.owner_id = ${userId} ORDER BY h.created_at, h.id`,
  );
}

export function exportUploads(db: Database, userId: string): Promise<(Listed & { name: string })[]> {
  return all(
    db,
    sql`
      SELECT id, name, type, mime_type, size, duration, width, height, created_at
      FROM uploads WHERE user_id = ${userId} AND state = 'stored' ORDER BY created_at, id`,
  );
}

export function exportWorkspaces(db: Database, userId: string): Promise<Listed[]> {
  return all(
    db,
    sql`
      SELECT id, name, monthly_cost_micros, monthly_tokens, created_at, updated_at
      FROM workspaces WHERE owner_id = ${userId} ORDER BY created_at, id`,
  );
}

export function exportAgents(db: Database, workspaceId: string): Promise<Listed[]> {
  return all(
    db,
    sql`
      SELECT id, slug, name, role, kind, description, skills, model, response_length, prompts, created_at, updated_at, deleted_at
      FROM agents WHERE workspace_id = ${workspaceId} ORDER BY sort_order`,
  );
}

export function exportTools(db: Database, agentId: string): Rows {
  return all(
    db,
    sql`SELECT name, enabled, permission, updated_at FROM agent_tools WHERE agent_id = ${agentId} ORDER BY name`,
  );
}

export function exportMemories(db: Database, agentId: string): Rows {
  return all(
    db,
    sql`
      SELECT ${EXPORTED_MEMORY} FROM ${memoriesOf(agentId)} m ORDER BY key`,
  );
}

export function exportConversations(db: Database, workspaceId: string): Promise<Listed[]> {
  return all(
    db,
    sql`
      SELECT c.id, c.type, c.agent_id, c.title, c.muted, s.text AS summary, c.created_at, c.updated_at
      FROM conversations c LEFT JOIN conversation_summaries s ON s.conversation_id = c.id
      WHERE c.workspace_id = ${workspaceId} ORDER BY c.created_at, c.id`,
  );
}

export async function exportArtifactVersions(db: Database, workspaceId: string): Promise<ExportedVersion[]> {
  const rows = await all<Listed & { version: number; object_id: string }>(
    db,
    sql`
      SELECT a.id, a.conversation_id, v.version, v.title, v.status, v.agent_slug, v.size, v.created_at, v.object_id
      FROM artifacts a JOIN artifact_versions v ON v.artifact_id = a.id
      WHERE a.workspace_id = ${workspaceId} ORDER BY a.id, v.version`,
  );
  return rows.map(({ object_id, ...data }) => ({
    id: data.id,
    version: data.version,
    objectId: object_id,
    data,
  }));
}

/** Includes steps. Oldest first, after a position. */
export async function exportWorkflows(
  db: Database,
  workspaceId: string,
  after: ListPosition | undefined,
  limit: number,
): Promise<ExportedWorkflow[]> {
  const behind =
    after === undefined ? sql`` : sql`AND (w.created_at, w.id) > (${after.time}::timestamptz, ${after.key}::uuid)`;
  const rows = await all<Record<string, unknown> & { position: ListPosition }>(
    db,
    sql`
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
      ORDER BY w.created_at, w.id LIMIT ${limit}`,
  );
  return rows.map(({ position, ...data }) => ({ position, data }));
}

/** Of schedule or trigger `s`, oldest first. Each keeps few runs. */
const RUNS = sql`(
  SELECT coalesce(jsonb_agg(
    jsonb_build_object(
      'due_at', r.due_at, 'is_manual', r.is_manual, 'status', r.status, 'error_code', r.error_code,
      'message_id', r.message_id, 'total_tokens', r.total_tokens, 'cost_micros', r.cost_micros,
      'started_at', r.started_at, 'finished_at', r.finished_at
    ) ORDER BY r.due_at
  ), '[]') FROM schedule_runs r WHERE r.schedule_id = s.id
) AS runs`;

/** With their runs. Oldest first. A user has few schedules. */
export function exportSchedules(db: Database, workspaceId: string): Promise<Record<string, unknown>[]> {
  return all(
    db,
    sql`
      SELECT s.id, s.title, s.prompt, a.slug AS agent_slug, s.conversation_id, s.start_time, s.rrule, s.time_zone, s.status,
        s.paused_by, s.next_at AS next_run_at, s.token_limit, s.created_at, s.updated_at, ${RUNS}
      FROM schedules s JOIN agents a ON a.id = s.agent_id
      WHERE s.workspace_id = ${workspaceId} AND s.secret_hash IS NULL ORDER BY s.created_at, s.id`,
  );
}

/** As `exportSchedules`. The body of a queued request is not a file yet. */
export function exportTriggers(db: Database, workspaceId: string): Promise<Record<string, unknown>[]> {
  return all(
    db,
    sql`
      SELECT s.id, s.title, s.prompt, a.slug AS agent_slug, s.conversation_id, s.status, s.paused_by, s.token_limit,
        EXISTS (SELECT FROM trigger_secrets k WHERE k.id = s.id) AS is_signed, s.created_at, s.updated_at, ${RUNS},
        (
          SELECT coalesce(jsonb_agg(encode(r.body, 'base64') ORDER BY r.due_at), '[]') FROM schedule_runs r
          WHERE r.schedule_id = s.id AND r.body IS NOT NULL
        ) AS queued_bodies
      FROM schedules s JOIN agents a ON a.id = s.agent_id
      WHERE s.workspace_id = ${workspaceId} AND s.secret_hash IS NOT NULL ORDER BY s.created_at, s.id`,
  );
}

/** Messages after the seq, oldest first. */
export async function exportMessages(
  db: Database,
  conversationId: string,
  afterSeq: number,
  limit: number,
): Promise<ExportedMessage[]> {
  const rows = await all<Record<string, unknown> & { seq: number }>(
    db,
    sql`
      SELECT m.seq, m.id, m.conversation_id, m.role, m.content, m.status, m.local_id, m.created_at, m.updated_at,
        m.mentions, m.attachments,
        CASE WHEN a.id IS NOT NULL THEN jsonb_build_object('id', a.id, 'name', a.name, 'slug', a.slug) END AS agent
      FROM messages m LEFT JOIN agents a ON a.id = m.agent_id
      WHERE m.conversation_id = ${conversationId} AND m.seq > ${afterSeq}
      ORDER BY m.seq LIMIT ${limit}`,
  );
  return rows.map(({ seq, ...data }) => ({ seq, data }));
}
