import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { BenchError, LONG_CONVERSATIONS, type Settings } from '../settings.js';

/** Users are `user-1`, `user-2`, … of this issuer. */
export const ISSUER_ID = 'bench';
const AGENTS = 5;
const CONSONANTS = 'bcdfghjklmnprst';

/** Conversations per workspace: one with the swarm and one per agent. */
const CONVERSATIONS = AGENTS + 1;

const PEOPLE = `
  INSERT INTO users (id, issuer, subject, email, name)
    SELECT gen_random_uuid(), $1, 'user-' || n, 'user-' || n || '@example.com', 'User ' || n FROM generate_series(1, $2) n`;

const PLACES = `
  INSERT INTO workspaces (id, owner_id, name) SELECT gen_random_uuid(), id, 'Workspace' FROM users;
  INSERT INTO runtimes (workspace_id, user_id, desired, phase) SELECT id, owner_id, 'running', 'Ready' FROM workspaces;
  INSERT INTO agents (id, workspace_id, slug, name, role, kind, description, avatar_url, skills, sort_order)
    SELECT gen_random_uuid(), id, 'agent-' || n, 'Agent ' || n, 'Role', CASE n WHEN 0 THEN 'manager' ELSE 'sub-agent' END,
      'What it does', '', '{}', n
    FROM workspaces CROSS JOIN generate_series(0, ${AGENTS - 1}) n;
  INSERT INTO conversations (id, workspace_id, type) SELECT gen_random_uuid(), id, 'swarm' FROM workspaces;
  INSERT INTO conversations (id, workspace_id, type, agent_id)
    SELECT gen_random_uuid(), workspace_id, 'agent', id FROM agents`;

/** Messages have ten words from a skewed vocabulary of 1,000 words; agents wrote half the messages. */
const MESSAGES = `
  WITH words AS MATERIALIZED (
    SELECT array_agg(substr('${CONSONANTS}', 1 + n % 15, 1) || 'a' || substr('${CONSONANTS}', 1 + n / 15 % 15, 1) || 'o' ||
      substr('${CONSONANTS}', 1 + n / 225, 1) || 'u' ORDER BY n) AS list FROM generate_series(0, 999) n
  ), places AS (
    SELECT c.id, c.workspace_id, w.owner_id, coalesce(c.agent_id, manager.id) AS agent_id,
      row_number() OVER (PARTITION BY c.workspace_id ORDER BY c.type DESC, c.id) - 1 AS place,
      substr(u.subject, 6)::int <= $3 AND c.type = 'swarm' AS long
    FROM conversations c
    JOIN workspaces w ON w.id = c.workspace_id
    JOIN users u ON u.id = w.owner_id
    JOIN agents manager ON manager.workspace_id = w.id AND manager.sort_order = 0
  ), texts AS (
    SELECT p.*, n, (SELECT string_agg(list[1 + (power(random(), 3) * 999)::int + 0 * n * word], ' ') FROM generate_series(1, 10) word)
        || CASE WHEN n % 10000 = 0 THEN ' needle' WHEN n = 5 THEN ' haystack' ELSE '' END AS text
    FROM words CROSS JOIN places p
    CROSS JOIN LATERAL generate_series(1, CASE WHEN p.long THEN $1::int ELSE $2::int END) n
  )
  INSERT INTO messages (id, workspace_id, conversation_id, agent_id, sender_id, seq, role, content, status, created_at)
  SELECT gen_random_uuid(), workspace_id, id, CASE n % 2 WHEN 0 THEN agent_id END, CASE n % 2 WHEN 1 THEN owner_id END,
    (n - 1) * ${CONVERSATIONS} + place + 1, CASE n % 2 WHEN 0 THEN 'agent' ELSE 'user' END,
    jsonb_build_object('type', 'text', 'text', text), 'delivered', now() - (100000 - n) * interval '1 second'
  FROM texts`;

/** Published message events, and completed turns. */
const TRACES = `
  INSERT INTO workspace_events (workspace_id, seq, type, subject_id, created_at, published_at)
    SELECT workspace_id, seq, 'message.new', id, created_at, now() FROM messages;
  UPDATE workspaces w SET last_seq = m.seq FROM (SELECT workspace_id, max(seq) AS seq FROM messages GROUP BY 1) m
    WHERE m.workspace_id = w.id;
  INSERT INTO turns (id, workspace_id, conversation_id, agent_id, user_message_id, reply_message_id, status)
    SELECT gen_random_uuid(), q.workspace_id, q.conversation_id, r.agent_id, q.id, r.id, 'done'
    FROM messages q JOIN messages r ON r.conversation_id = q.conversation_id AND r.seq = q.seq + ${CONVERSATIONS}
    WHERE q.role = 'user' AND r.role = 'agent'`;

/** Fills an empty, migrated database. */
export async function seed(
  url: string,
  settings: Pick<Settings, 'workspaces' | 'messages' | 'conversation'>,
): Promise<void> {
  const { workspaces, messages, conversation } = settings;
  const long = LONG_CONVERSATIONS;
  const each = Math.ceil((messages - long * conversation) / (workspaces * CONVERSATIONS - long));
  await withClient(url, async (client) => {
    // Foreign keys are valid by construction; checking a million rows would take longer than inserting them.
    await client.query(
      `SET session_replication_role = replica; SET maintenance_work_mem = '256MB'; SELECT setseed(0.5)`,
    );
    await client.query(PEOPLE, [ISSUER_ID, workspaces]);
    await client.query(PLACES);
    const index = await client.query<{ indexdef: string }>(
      `SELECT indexdef FROM pg_indexes WHERE indexname = 'messages_search'`,
    );
    await client.query('DROP INDEX messages_search');
    await client.query(MESSAGES, [conversation, each, long]);
    await client.query(TRACES);
    await client.query(index.rows[0]?.indexdef ?? '');
    // Same setting as in its migration; a new index has the default.
    await client.query('ALTER INDEX messages_search ALTER COLUMN 1 SET STATISTICS 0');
    await client.query('VACUUM (FREEZE, ANALYZE)');
  });
}

const RELAY_DEADLINE_MS = 120_000;
const UNPUBLISHED = 'SELECT FROM event_outbox LIMIT 1';

/** Waits until all events are published: the rest of one measurement must not be load in the next. */
export async function waitForRelay(url: string): Promise<void> {
  const deadline = performance.now() + RELAY_DEADLINE_MS;
  await withClient(url, async (client) => {
    while ((await client.query(UNPUBLISHED)).rowCount !== 0) {
      if (performance.now() > deadline) throw new BenchError('The orchestrator did not publish its events in time.');
      await sleep(100);
    }
  });
}

/**
 * Completes the queued turns and unpublished events: no turns run here, queues are short, and the floor does not publish
 * events.
 */
export async function settle(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('TRUNCATE event_outbox');
    await client.query(`UPDATE turns SET status = 'done' WHERE status = 'queued'`);
    await client.query(`DELETE FROM work WHERE kind = 'turn'`);
    // Not during the next measurement.
    await client.query('VACUUM turns, work, event_outbox, workspaces, conversations');
    await client.query('CHECKPOINT');
  });
}

export async function withClient<Result>(url: string, use: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
