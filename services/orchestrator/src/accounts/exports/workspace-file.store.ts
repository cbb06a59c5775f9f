import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';

/**
 * Rows as docs/swarm-file.md describes them. Sequences are kept: they order messages, and belong to the workspace alone.
 * Each page continues after the previous one's last row.
 */
export type FileRow = Record<string, unknown> & { id: string };

type Page<Row> = (db: Database, workspaceId: string, after: Row | undefined, limit: number) => Promise<Row[]>;

const NO_ID = '00000000-0000-0000-0000-000000000000';

const all = async <Row>(db: Database, query: ReturnType<typeof sql<Row>>): Promise<Row[]> =>
  (await query.execute(db)).rows;

export async function fileWorkspace(db: Database, workspaceId: string, userId: string): Promise<FileRow | undefined> {
  const [row] = await all<FileRow>(
    db,
    sql`
      SELECT id, name, monthly_cost_micros, monthly_tokens, created_at, updated_at
      FROM workspaces WHERE id = ${workspaceId} AND owner_id = ${userId}`,
  );
  return row;
}

export const fileConversations: Page<FileRow> = (db, workspaceId, after, limit) =>
  all(
    db,
    sql`
      SELECT c.id, c.type, c.agent_id, c.title, c.title_source, c.title_seq, c.muted, c.read_seq, c.created_at, c.updated_at,
        CASE WHEN s.conversation_id IS NOT NULL
          THEN jsonb_build_object('through_seq', s.through_seq, 'text', s.text) END AS summary,
        (
          SELECT coalesce(jsonb_agg(u.source ORDER BY u.source), '[]')
          FROM untrusted_contents u WHERE u.conversation_id = c.id
        ) AS untrusted
      FROM conversations c LEFT JOIN conversation_summaries s ON s.conversation_id = c.id
      WHERE c.workspace_id = ${workspaceId} AND c.id > ${after?.id ?? NO_ID} ORDER BY c.id LIMIT ${limit}`,
  );

/** Without replies that have not begun. */
export const fileMessages: Page<FileRow & { seq: number }> = (db, workspaceId, after, limit) =>
  all(
    db,
    sql`
      SELECT id, conversation_id, seq, before_seq, shown_seq, role, agent_id, content, status, error_code, mentions,
        attachments, answer_turn_id, in_reply_to, answered_with, schedule_id, trigger_id, created_at, updated_at, edited_at
      FROM messages
      WHERE workspace_id = ${workspaceId} AND seq > ${after?.seq ?? -1} AND content ->> 'type' <> 'loading'
      ORDER BY seq LIMIT ${limit}`,
  );

export const fileArtifacts: Page<FileRow> = (db, workspaceId, after, limit) =>
  all(
    db,
    sql`
      SELECT a.id, a.conversation_id, a.version, a.updated_at, (
        SELECT jsonb_agg(jsonb_build_object(
          'version', v.version, 'title', v.title, 'status', v.status, 'agent_slug', v.agent_slug, 'preview', v.preview,
          'size', v.size, 'untrusted', v.untrusted, 'created_at', ${iso('v.created_at')}
        ) ORDER BY v.version) FROM artifact_versions v WHERE v.artifact_id = a.id
      ) AS versions
      FROM artifacts a
      WHERE a.workspace_id = ${workspaceId} AND a.id > ${after?.id ?? NO_ID} ORDER BY a.id LIMIT ${limit}`,
  );

/** Object keys by version. */
export function fileVersions(db: Database, artifactId: string): Promise<{ version: number; object_id: string }[]> {
  return db
    .selectFrom('artifact_versions')
    .select(['version', 'object_id'])
    .where('artifact_id', '=', artifactId)
    .orderBy('version')
    .execute();
}

/** Without triggers, which are useless without the secrets in their URLs. */
export const fileSchedules: Page<FileRow> = (db, workspaceId, after, limit) =>
  all(
    db,
    sql`
      SELECT id, agent_id, conversation_id, title, prompt, start_time, rrule, time_zone, status, token_limit,
        created_at, updated_at
      FROM schedules WHERE workspace_id = ${workspaceId} AND secret_hash IS NULL AND id > ${after?.id ?? NO_ID}
      ORDER BY id LIMIT ${limit}`,
  );

/** Each once: one agent holds what the whole workspace remembers. */
export const fileMemories: Page<FileRow & { key: string }> = (db, workspaceId, after, limit) =>
  all(
    db,
    sql`
      SELECT m.agent_id AS id, m.key, m.content, m.category,
        CASE WHEN m.workspace_id IS NULL THEN 'agent' ELSE 'workspace' END AS scope, m.untrusted, m.created_by,
        m.written_by, m.message_id, m.created_at, m.updated_at
      FROM agent_memories m JOIN agents a ON a.id = m.agent_id
      WHERE a.workspace_id = ${workspaceId} AND (m.agent_id, m.key) > (${after?.id ?? NO_ID}::uuid, ${after?.key ?? ''})
      ORDER BY m.agent_id, m.key LIMIT ${limit}`,
  );

/** Also deleted ones, which messages name. */
export const fileAgents: Page<FileRow & { sort_order: number }> = (db, workspaceId, after, limit) =>
  all(
    db,
    sql`
      SELECT a.id, a.slug, a.name, a.role, a.kind, a.description, a.avatar_url, a.skills, a.sort_order, a.model,
        a.response_length, a.prompts, a.created_at, a.updated_at, a.deleted_at,
        (
          SELECT coalesce(jsonb_agg(jsonb_build_object(
            'name', t.name, 'enabled', t.enabled, 'permission', t.permission, 'updated_at', ${iso('t.updated_at')}
          ) ORDER BY t.name), '[]') FROM agent_tools t WHERE t.agent_id = a.id
        ) AS tools
      FROM agents a
      WHERE a.workspace_id = ${workspaceId} AND (a.sort_order, a.id) > (${after?.sort_order ?? -1}, ${after?.id ?? NO_ID}::uuid)
      ORDER BY a.sort_order, a.id LIMIT ${limit}`,
  );

/** Files that a message in the workspace has. Materialized: in the order of ids, Postgres could read all users' files. */
export const fileUploads: Page<FileRow> = (db, workspaceId, after, limit) =>
  all(
    db,
    sql`
      WITH own AS MATERIALIZED (
        SELECT u.id, u.name, u.type, u.mime_type, u.size, u.duration, u.width, u.height, u.transcript, u.created_at
        FROM uploads u JOIN workspaces w ON w.owner_id = u.user_id
        WHERE w.id = ${workspaceId} AND u.state = 'stored' AND u.id > ${after?.id ?? NO_ID}
      )
      SELECT own.* FROM own WHERE EXISTS (
        SELECT FROM message_attachments a JOIN messages m ON m.id = a.message_id
        WHERE a.upload_id = own.id AND m.workspace_id = ${workspaceId}
      )
      ORDER BY own.id LIMIT ${limit}`,
  );

/** A time as JavaScript writes it. */
function iso(column: string) {
  return sql`to_char(${sql.ref(column)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
