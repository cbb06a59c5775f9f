import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createTestDatabase } from '@uswarm/testkit';
import { sql } from 'kysely';
import { runner } from 'node-pg-migrate';
import { allRows } from '../../../test/database-rows.js';
import { openDatabase } from './database.js';
import { migrate } from './migrate.js';

const REPOSITORY = path.resolve(import.meta.dirname, '../../../../..');
const ARCHIVE = path.join(REPOSITORY, 'e2e/fixtures/previous-release.tar.gz');
const FOLDER = 'services/orchestrator/migrations';

/** A user with a workspace in use, stored by the previous release. */
const ROWS = `
  INSERT INTO users (id, issuer, subject, email) VALUES ('01', 'https://login.example.com', 'ada', 'ada@example.com');
  INSERT INTO workspaces (id, owner_id, name, last_seq) VALUES ('02', '01', 'Home', 5);
  INSERT INTO runtimes (workspace_id, user_id, desired, phase) VALUES ('02', '01', 'running', 'Ready');
  INSERT INTO agents (id, workspace_id, slug, name, role, kind, description, avatar_url, skills, sort_order)
    VALUES ('03', '02', 'manager', 'Mia', 'Manager', 'manager', 'Leads', '/a.png', '{}', 0);
  INSERT INTO agent_tools (agent_id, name, enabled) VALUES ('03', 'web_search_tool', false);
  INSERT INTO agents (id, workspace_id, slug, name, role, kind, description, avatar_url, skills, sort_order)
    VALUES ('0d', '02', 'writer', 'Wim', 'Writer', 'sub-agent', 'Writes', '/a.png', '{}', 1);
  INSERT INTO agent_memories (agent_id, key, content, category) VALUES
    ('03', 'tea', 'Likes tea', 'preference'), ('03', 'name', 'Is called Ada', 'Core'), ('03', 'tone', 'Formal', 'core'),
    ('0d', 'tone', 'Casual', 'core');
  INSERT INTO conversations (id, workspace_id, type, title) VALUES ('04', '02', 'swarm', 'Tea');
  INSERT INTO messages (id, workspace_id, conversation_id, seq, role, sender_id, content, status, local_id, body_hash) VALUES
    ('05', '02', '04', 1, 'user', '01', '{"type": "text", "text": "Which tea?"}', 'read', 'local-1', 'hash');
  INSERT INTO messages (id, workspace_id, conversation_id, seq, shown_seq, role, agent_id, content, status, turn_id) VALUES
    ('06', '02', '04', 2, 3, 'agent', '03', '{"type": "text", "text": "Green tea."}', 'delivered', '07'),
    ('0a', '02', '04', 4, NULL, 'agent', '03', '{"type": "text", "text": "Or"}', 'pending', '0b');
  INSERT INTO turns (id, workspace_id, conversation_id, agent_id, user_message_id, reply_message_id, status, finished_at)
    VALUES ('07', '02', '04', '03', '05', '06', 'done', now());
  INSERT INTO turns (id, workspace_id, conversation_id, agent_id, user_message_id, reply_message_id, status, started_at)
    VALUES ('0b', '02', '04', '03', '05', '0a', 'running', now());
  INSERT INTO work (kind, subject_id, workspace_id, serial_key) VALUES ('turn', '0b', '02', '04');
  INSERT INTO usage_entries (turn_id, step, user_id, workspace_id, provider, model, prompt_tokens, completion_tokens)
    VALUES ('07', 1, '01', '02', 'openai', 'flash', 20, 5);
  INSERT INTO workspace_events (workspace_id, seq, type, subject_id, published_at) VALUES
    ('02', 1, 'message.new', '05', now()), ('02', 2, 'message.new', '06', NULL);
  INSERT INTO devices (user_id, device_id, push_token, push_token_hash) VALUES ('01', 'phone', 'token', 'hash');
  INSERT INTO legal_acceptances (user_id, document, version) VALUES ('01', 'terms_of_service', '1');
  INSERT INTO uploads (id, user_id, state, attached, name, size) VALUES ('08', '01', 'stored', true, 'tea.png', 10);
  INSERT INTO message_attachments (message_id, upload_id) VALUES ('05', '08');
  INSERT INTO integrations (id, user_id, provider, key_id, tokens, code_hash) VALUES ('09', '01', 'google', 'k', 't', 'c');
  INSERT INTO audit_log (id, actor, action, user_id) VALUES ('0c', 'operator', 'user.ban', '01');
  INSERT INTO revoked_tokens (token_hash, expires_at) VALUES ('hash', now() + interval '1 hour');
  INSERT INTO deleted_identities (identity_hash, reason, description) VALUES ('hash', '', '');
  INSERT INTO spent_local_ids (workspace_id, sender_id, local_id_hash) VALUES ('02', '01', 'hash');
  INSERT INTO agent_memories (agent_id, workspace_id, key, content, category) VALUES ('03', '02', 'city', 'Lives in Oslo', 'core');
  INSERT INTO artifacts (id, workspace_id, conversation_id) VALUES ('0e', '02', '04');
  INSERT INTO artifact_versions (artifact_id, version, title, status, agent_slug, preview, size, object_id)
    VALUES ('0e', 1, 'Teas', 'final', 'manager', 'Green', 10, '0f');
  INSERT INTO turn_entries (turn_id, number, generation, kind, body) VALUES ('0b', 1, 1, 'step', '{}');
  INSERT INTO conversation_summaries (conversation_id, through_seq, text) VALUES ('04', 1, 'About tea');
  INSERT INTO tool_approvals (card_message_id, turn_id, conversation_id, call_id, tool, arguments_hash, expires_at)
    VALUES ('0a', '0b', '04', 'call-1', 'send_mail', sha256('hash'), now() + interval '1 hour');
  INSERT INTO receipts (id, user_id, workspace_id, conversation_id, agent_id, turn_id, call_id, tool, effect, arguments, arguments_hash, key)
    VALUES ('00', '01', '02', '04', '03', '07', 'call-1', 'send_mail', 'once', '{}', sha256('hash'), 'k');
  INSERT INTO user_tool_servers (id, user_id, name, url, auth) VALUES ('01', '01', 'Notes', 'https://notes.example.com/mcp', 'none');
`.replaceAll(/'(0[0-9a-f])'/g, `'00000000-0000-7000-8000-0000000000$1'`);

describe('the schema of the previous release', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-previous-'));
    await promisify(execFile)('tar', ['-xzf', ARCHIVE, '-C', folder, FOLDER]);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Maps migration names to their statements, without comments. */
  async function statementsOf(root: string): Promise<Record<string, string>> {
    const names = (await readdir(path.join(root, FOLDER))).filter((name) => name.endsWith('.sql')).toSorted();
    const texts = names.map(async (name) => {
      const text = await readFile(path.join(root, FOLDER, name), 'utf8');
      return [name, text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ')];
    });
    return Object.fromEntries(await Promise.all(texts));
  }

  it('consists of the first migrations of this release, which have the same statements', async () => {
    const [previous, current] = await Promise.all([statementsOf(folder), statementsOf(REPOSITORY)]);
    const released = Object.keys(previous);
    expect(Object.keys(current).slice(0, released.length)).toEqual(released);
    expect(current).toMatchObject(previous);
  });

  /** A database with the schema of the previous release. */
  async function openPrevious(stack: AsyncDisposableStack) {
    const test = await createTestDatabase();
    stack.defer(() => test.drop());
    const database = openDatabase({ url: test.url, maxConnections: 2 });
    stack.defer(() => database.destroy());
    await runner({
      databaseUrl: test.url,
      dir: `${path.join(folder, FOLDER)}/*.sql`,
      useGlob: true,
      direction: 'up',
      migrationsTable: 'schema_migrations',
      log: () => undefined,
    });
    return { database, url: test.url };
  }

  it('keeps each row when it is migrated', async () => {
    await using stack = new AsyncDisposableStack();
    const { database, url } = await openPrevious(stack);
    for (const statement of ROWS.split(';\n').filter((each) => each.trim() !== ''))
      await sql.raw(statement).execute(database);
    const before = await allRows(database);

    await migrate(url, silentLogger);

    const after = await allRows(database);
    for (const [table, rows] of Object.entries(before)) {
      const kept = rows.map((row) => expect.objectContaining(JSON.parse(row) as object));
      expect({ table, rows: after[table]?.map((row) => JSON.parse(row)) }).toEqual({
        table,
        rows: expect.arrayContaining(kept),
      });
    }
  });
});
