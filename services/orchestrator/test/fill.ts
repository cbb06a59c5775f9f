import { sql } from 'kysely';
import type { Database } from '../src/database/database.js';

/** Workspaces as sign-ups make them, quickly: each of a user of its own. @returns their ids */
export async function fillWorkspaces(database: Database, count: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    WITH owners AS (
      INSERT INTO users (id, issuer, subject)
      SELECT id, 'filled', id::text FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, ${count})) made
      RETURNING id
    ), made AS (
      INSERT INTO workspaces (id, owner_id, name) SELECT gen_random_uuid(), id, 'Filled' FROM owners RETURNING id, owner_id
    ), staffed AS (
      INSERT INTO agents (id, workspace_id, slug, name, role, kind, description, avatar_url, skills, sort_order)
      SELECT gen_random_uuid(), id, 'agent-' || n, 'Agent', 'Agent', CASE n WHEN 0 THEN 'manager' ELSE 'sub-agent' END, '', '', '{}', n
      FROM made CROSS JOIN generate_series(0, 4) n
    ), talked AS (
      INSERT INTO conversations (id, workspace_id, type) SELECT gen_random_uuid(), id, 'swarm' FROM made
    ), ran AS (
      INSERT INTO runtimes (workspace_id, user_id, desired) SELECT id, owner_id, 'running' FROM made
    )
    SELECT id FROM made`.execute(database);
  return rows.map(({ id }) => id);
}

/** As many messages, each with its event, in every conversation there is. */
export async function fillMessages(database: Database, perConversation: number): Promise<void> {
  await sql`
    INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status, local_id, sender_id)
    SELECT gen_random_uuid(), c.workspace_id, c.id, n, 'user', '{"type": "text", "text": "hi"}', 'sent', 'l' || n, w.owner_id
    FROM conversations c JOIN workspaces w ON w.id = c.workspace_id CROSS JOIN generate_series(1, ${perConversation}) n`.execute(
    database,
  );
  await sql`
    INSERT INTO workspace_events (workspace_id, seq, type, subject_id)
    SELECT workspace_id, seq, 'message.new', id FROM messages`.execute(database);
  await sql`UPDATE workspaces SET last_seq = ${perConversation}`.execute(database);
}

/** A turn for every message, the last of each conversation still waiting, with its work beside. */
export async function fillTurns(database: Database): Promise<void> {
  await sql`
    INSERT INTO turns (id, workspace_id, conversation_id, agent_id, user_message_id, status)
    SELECT gen_random_uuid(), m.workspace_id, m.conversation_id, a.id, m.id, CASE WHEN m.seq = w.last_seq THEN 'queued' ELSE 'done' END
    FROM messages m
    JOIN workspaces w ON w.id = m.workspace_id
    JOIN agents a ON a.workspace_id = m.workspace_id AND a.sort_order = 0`.execute(database);
  await sql`
    INSERT INTO work (kind, subject_id, workspace_id, serial_key, ordinal)
    SELECT 'turn', t.id, t.workspace_id, t.conversation_id, m.seq FROM turns t JOIN messages m ON m.id = t.user_message_id
    WHERE t.status = 'queued'
    UNION ALL SELECT 'runtime', workspace_id, workspace_id, workspace_id, 0 FROM runtimes`.execute(database);
}
