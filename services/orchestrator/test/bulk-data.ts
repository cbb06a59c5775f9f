import { sql } from 'kysely';
import type { Database } from '../src/platform/database/database.js';

/** Inserts workspaces as sign-ups create them, each with a separate user. @returns their ids */
export async function insertWorkspaces(database: Database, count: number): Promise<string[]> {
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

export async function insertMessages(database: Database, perConversation: number): Promise<void> {
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

/** Attaches a file to every message. */
export async function insertFiles(database: Database): Promise<void> {
  await sql`
    INSERT INTO uploads (id, user_id, state, attached, name, size)
    SELECT m.id, w.owner_id, 'stored', true, 'a.txt', 1 FROM messages m JOIN workspaces w ON w.id = m.workspace_id`.execute(
    database,
  );
  await sql`INSERT INTO message_attachments (message_id, upload_id) SELECT id, id FROM messages`.execute(database);
}

const PART = 5_000;
const CONSONANTS = 'bcdfghjklmnprst';

/**
 * Fills a conversation with messages from user and manager, alternately. Each message has ten words out of a thousand;
 * the first ones are by far the most common. Every ten-thousandth message contains `needle`, message 5 `haystack`.
 */
export async function insertLongConversation(
  database: Database,
  conversationId: string,
  messages: number,
): Promise<void> {
  // One statement for all messages could exceed the statement timeout on a busy machine.
  for (let from = 1; from <= messages; from += PART) {
    await insertMessageRange(database, conversationId, from, Math.min(messages, from + PART - 1));
  }
  await sql`
    INSERT INTO turns (id, workspace_id, conversation_id, agent_id, user_message_id, reply_message_id, status)
    SELECT gen_random_uuid(), q.workspace_id, q.conversation_id, r.agent_id, q.id, r.id, 'done'
    FROM messages q JOIN messages r ON r.conversation_id = q.conversation_id AND r.seq = q.seq + 1
    WHERE q.conversation_id = ${conversationId} AND q.role = 'user'`.execute(database);
  await sql`
    UPDATE workspaces w SET last_seq = ${messages} FROM conversations c
    WHERE c.id = ${conversationId} AND w.id = c.workspace_id`.execute(database);
}

async function insertMessageRange(database: Database, conversationId: string, from: number, to: number): Promise<void> {
  await sql`
    WITH words AS MATERIALIZED (
      SELECT array_agg(substr(${CONSONANTS}, 1 + n % 15, 1) || 'a' || substr(${CONSONANTS}, 1 + n / 15 % 15, 1) || 'o' ||
        substr(${CONSONANTS}, 1 + n / 225, 1) || 'u' ORDER BY n) AS list FROM generate_series(0, 999) n
    ), texts AS (
      SELECT n, (SELECT string_agg(list[1 + (power(random(), 3) * 999)::int + 0 * n * w], ' ') FROM generate_series(1, 10) w)
        || CASE WHEN n % 10000 = 0 THEN ' needle' WHEN n = 5 THEN ' haystack' ELSE '' END AS text
      FROM words CROSS JOIN generate_series(${from}::int, ${to}::int) n
    )
    INSERT INTO messages (id, workspace_id, conversation_id, agent_id, seq, role, content, status)
    SELECT gen_random_uuid(), c.workspace_id, c.id, CASE n % 2 WHEN 0 THEN a.id END, n,
      CASE n % 2 WHEN 0 THEN 'agent' ELSE 'user' END, jsonb_build_object('type', 'text', 'text', text), 'delivered'
    FROM texts CROSS JOIN conversations c JOIN agents a ON a.workspace_id = c.workspace_id AND a.sort_order = 0
    WHERE c.id = ${conversationId}`.execute(database);
}

/** Inserts for each agent a conversation with messages, memories and a tool setting. */
export async function insertAgentData(database: Database, each: number): Promise<void> {
  await sql`
    WITH talked AS (
      INSERT INTO conversations (id, workspace_id, type, agent_id)
      SELECT gen_random_uuid(), workspace_id, 'agent', id FROM agents RETURNING id, workspace_id, agent_id
    )
    INSERT INTO messages (id, workspace_id, conversation_id, agent_id, seq, role, content, status)
    SELECT gen_random_uuid(), workspace_id, id, agent_id, 1000 + n, 'agent', '{"type": "text", "text": "hi"}', 'delivered'
    FROM talked CROSS JOIN generate_series(1, ${each}) n`.execute(database);
  await sql`
    INSERT INTO agent_memories (agent_id, key, content, category)
    SELECT id, n::text, 'x', 'core' FROM agents CROSS JOIN generate_series(1, ${each}) n`.execute(database);
  await sql`
    INSERT INTO deleted_memories (agent_id, hash)
    SELECT id, sha256(n::text::bytea) FROM agents CROSS JOIN generate_series(1, ${each}) n`.execute(database);
  await sql`INSERT INTO agent_tools (agent_id, name, enabled) SELECT id, 'memories', true FROM agents`.execute(
    database,
  );
  await sql`
    WITH written AS (
      INSERT INTO artifacts (id, workspace_id)
      SELECT gen_random_uuid(), id FROM workspaces CROSS JOIN generate_series(1, ${each}) RETURNING id
    )
    INSERT INTO artifact_versions (artifact_id, version, title, status, agent_slug, preview, size, object_id)
    SELECT id, 1, 't', 'draft', 'writer', '', 0, gen_random_uuid() FROM written`.execute(database);
  await sql`
    WITH started AS (
      INSERT INTO workflows (id, workspace_id, conversation_id, agent_id, message_id, name, created_at)
      SELECT gen_random_uuid(), m.workspace_id, m.conversation_id, m.agent_id, m.id, 'w', now()
      FROM messages m WHERE m.role = 'agent' RETURNING id, agent_id
    )
    INSERT INTO workflow_steps (workflow_id, step_id, number, name, agent_id, task, after, status, turn_id)
    SELECT id, 's', 0, 's', agent_id, 't', '{}', 'running', gen_random_uuid() FROM started`.execute(database);
}

/** Inserts a turn for every message. The last turn in each conversation is queued and has a job. */
export async function insertTurns(database: Database): Promise<void> {
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
  await sql`
    INSERT INTO turn_entries (turn_id, number, generation, kind, body) SELECT id, 1, 1, 'step', '{}' FROM turns`.execute(
    database,
  );
  await sql`INSERT INTO turn_contexts (turn_id, context) SELECT id, '{}' FROM turns`.execute(database);
  await sql`
    INSERT INTO tool_calls (turn_id, call_id, tool, text, failed, shows_message)
    SELECT id, 'c', 't', '', false, false FROM turns`.execute(database);
  await sql`
    INSERT INTO tool_approvals (card_message_id, turn_id, conversation_id, call_id, tool, arguments_hash, status, expires_at)
    SELECT user_message_id, id, conversation_id, 'c', 't', sha256('x'), 'approved', now() + interval '1 day'
    FROM turns`.execute(database);
  await sql`
    WITH known AS (INSERT INTO receipt_keys (kid, x) VALUES ('k', 'x') ON CONFLICT DO NOTHING)
    INSERT INTO receipts (id, user_id, workspace_id, conversation_id, agent_id, turn_id, call_id, tool, effect, arguments,
      arguments_hash, key, status, outcome, finished_at, kid, jws)
    SELECT gen_random_uuid(), w.owner_id, t.workspace_id, t.conversation_id, t.agent_id, t.id, 'c', 't', 'once', '{}',
      sha256('x'), 'k', 'succeeded', '', now(), 'k', 'signed'
    FROM turns t JOIN workspaces w ON w.id = t.workspace_id`.execute(database);
}

/** Half of the turns work on tasks that the other half gave. */
export async function insertTasks(database: Database): Promise<void> {
  await sql`
    WITH numbered AS (
      SELECT id, user_message_id, row_number() OVER (PARTITION BY workspace_id ORDER BY id) AS number,
        lag(id) OVER (PARTITION BY workspace_id ORDER BY id) AS previous
      FROM turns WHERE status = 'done'
    ), tasks AS (
      INSERT INTO turn_tasks (turn_id, depth, prompt) SELECT id, 1, 'Find tea.' FROM numbered WHERE number % 2 = 0
    )
    INSERT INTO delegations (turn_id, parent_turn_id, call_id, message_id, status)
    SELECT id, previous, 'c', user_message_id, 'completed' FROM numbered WHERE number % 2 = 0`.execute(database);
}

/**
 * Inserts for each user a device with a push token that shows all messages, a revoked token, usage in three months and
 * an audit entry.
 */
export async function insertUserData(database: Database): Promise<void> {
  await sql`
    INSERT INTO devices (user_id, device_id, push_token, push_token_hash)
    SELECT id, 'phone', id::text, sha256(id::text::bytea) FROM users`.execute(database);
  await sql`
    INSERT INTO push_deliveries (message_id, user_id, device_id)
    SELECT m.id, w.owner_id, 'phone' FROM messages m JOIN workspaces w ON w.id = m.workspace_id`.execute(database);
  await sql`
    INSERT INTO revoked_tokens (token_hash, expires_at)
    SELECT sha256(id::text::bytea), now() + interval '1 day' FROM users`.execute(database);
  await sql`
    INSERT INTO api_tokens (id, user_id, token_hash, name, scopes, expires_at)
    SELECT id, id, sha256(id::text::bytea), 'CI', '{read}', now() + interval '1 day' FROM users`.execute(database);
  await sql`
    INSERT INTO usage_entries (turn_id, step, user_id, workspace_id, provider, model, prompt_tokens, completion_tokens, created_at)
    SELECT gen_random_uuid(), n, w.owner_id, w.id, 'p', 'm', 10, 1, '2026-01-15'::timestamptz + n * interval '1 month'
    FROM workspaces w CROSS JOIN generate_series(1, 3) n`.execute(database);
  await sql`
    INSERT INTO audit_log (id, actor, action, user_id) SELECT gen_random_uuid(), 'op', 'user.show', id FROM users`.execute(
    database,
  );
}
