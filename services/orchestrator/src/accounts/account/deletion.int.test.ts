import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { LegalStatus, MessageData, UserProfile, UserUsageSummary } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { storeArtifact } from '../../../test/artifacts.js';
import { rowsContaining, allRows } from '../../../test/database-rows.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { untilBlocked } from '../../../test/lock-waits.js';
import { createSchedule } from '../../../test/schedules.js';
import { storeWorkflow } from '../../../test/workflows.js';
import type { Transaction } from '../../platform/database/database.js';
import { appendAudit } from '../../records/audit.store.js';
import { withoutAfterCommit } from '../../../test/transaction.js';

const DELETE = '/v1/auth/delete';

async function createData(uswarm: TestOrchestrator, user: TestUser) {
  const home = await uswarm.home(user);
  const text = `secret ${crypto.randomUUID()}`;
  const sent = await user.post<{ data: MessageData }>(home.messages, { content: { type: 'text', text } }, 201);
  await user.post(`${home.workspace}/conversations`, { type: 'agent', agent_id: home.agents[1]?.id }, 201);
  const { id: userId } = await uswarm.database
    .selectFrom('users')
    .select('id')
    .where('email', '=', user.email)
    .executeTakeFirstOrThrow();
  const subject = (await user.get<{ data: UserProfile }>('/v1/users/profile')).body.data.idp_uid;
  const ids = [
    userId,
    subject,
    home.workspaceId,
    home.conversationId,
    sent.body.data.id,
    ...home.agents.map(({ id }) => id),
  ];
  return { home, userId, traces: [user.email, user.name, text, ...ids] };
}

describe('account deletion', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  it('REST-009 DELETE /v1/auth/delete takes reason and description and returns 204', async () => {
    const user = await uswarm.user();
    const why = { reason: `r-${crypto.randomUUID()}`, description: 'It was nice, but.' };
    expect((await user.delete(DELETE, why, 204)).body).toBeUndefined();
    expect(await user.refusal('GET', '/v1/users/profile')).toBe('user_deleted');
    const kept = await rowsContaining(uswarm.database, [why.reason]);
    expect(kept.map((row) => row.slice(0, row.indexOf(':')))).toEqual(['deletion_feedback']);
  });

  it('accepts a request without a body', async () => {
    const user = await uswarm.user();
    expect((await user.delete(DELETE, undefined, 204)).status).toBe(204);
  });

  it('does not affect other users', async () => {
    const [leaving, staying] = [await uswarm.user(), await uswarm.user()];
    const { traces } = await createData(uswarm, staying);
    const before = await rowsContaining(uswarm.database, traces);
    await createData(uswarm, leaving);
    await leaving.delete(DELETE, {}, 204);
    expect(await rowsContaining(uswarm.database, traces)).toEqual(before);
  });

  it('returns user_not_found for an identity that never signed up', async () => {
    const identity = await uswarm.newIdentity();
    expect(await identity.refusal('DELETE', DELETE, {})).toBe('user_not_found');
  });

  it.each([
    ['POST', '/v1/auth/sign-in'],
    ['DELETE', DELETE],
    ['GET', '/v1/users/profile'],
    ['GET', '/v1/workspaces'],
  ] as const)('is final: %s %s returns user_deleted', async (method, path) => {
    const user = await uswarm.user();
    await user.delete(DELETE, {}, 204);
    expect(await user.refusal(method, path)).toBe('user_deleted');
  });

  it('allows a later sign-up, which creates a new user without data of the old one', async () => {
    const user = await uswarm.user();
    const { home, traces } = await createData(uswarm, user);
    await user.delete(DELETE, {}, 204);
    await user.post('/v1/auth/sign-up', undefined, 204);
    const newHome = await uswarm.home(user);
    expect(newHome.workspaceId).not.toBe(home.workspaceId);
    expect((await user.get<{ data: unknown[] }>(newHome.messages)).body.data).toEqual([]);
    expect(traces).not.toContain(newHome.conversationId);
  });

  it('is rejected for a banned user, so that it cannot lift a ban', async () => {
    const user = await uswarm.user();
    await uswarm.database.updateTable('users').set({ is_banned: true }).where('email', '=', user.email).execute();
    const before = await allRows(uswarm.database);
    expect(await user.refusal('DELETE', DELETE, {})).toBe('user_banned');
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  /** Deletes the account while another transaction with earlier writes takes the next seq. */
  const deleteDuring = async (user: TestUser, home: Home, write: (tx: Transaction) => Promise<unknown>) => {
    const { deleting } = await uswarm.database.transaction().execute(async (tx) => {
      await write(withoutAfterCommit(tx));
      const started = user.delete(DELETE, {}, 204);
      await untilBlocked(uswarm.database);
      await tx
        .updateTable('workspaces')
        .set({ last_seq: sql`last_seq + 1` })
        .where('id', '=', home.workspaceId)
        .execute();
      return { deleting: started };
    });
    return deleting;
  };

  it('waits for the transaction of a running turn, and both succeed', async () => {
    const user = await uswarm.user();
    const { home } = await createData(uswarm, user);
    const { status } = await deleteDuring(user, home, async (tx) => {
      // A turn writes in this order: lease, message, event.
      await tx
        .selectFrom('work')
        .selectAll()
        .where('workspace_id', '=', home.workspaceId)
        .where('kind', '=', 'turn')
        .forUpdate()
        .execute();
      await tx.updateTable('messages').set({ status: 'read' }).where('workspace_id', '=', home.workspaceId).execute();
    });
    expect(status).toBe(204);
  });

  it('waits for the transaction that stores the state of a runtime, and both succeed', async () => {
    const user = await uswarm.user();
    const { home } = await createData(uswarm, user);
    const { status } = await deleteDuring(user, home, (tx) =>
      tx.updateTable('runtimes').set({ reason: 'Looked' }).where('workspace_id', '=', home.workspaceId).execute(),
    );
    expect(status).toBe(204);
  });

  it('revokes the lease of a running turn, so that it stores nothing more', async () => {
    const user = await uswarm.user();
    const { home } = await createData(uswarm, user);
    await user.delete(DELETE, {}, 204);
    const turns = uswarm.database
      .selectFrom('work')
      .selectAll()
      .where('workspace_id', '=', home.workspaceId)
      .where('kind', '=', 'turn');
    expect(await turns.execute()).toEqual([]);
  });
});

describe('account deletion with a runtime', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: { RUNTIME_WORKERS: '2', TURN_WORKERS: '2', UPKEEP_WORKERS: '2' },
    });
  });
  afterAll(() => uswarm.close());

  /** Adds rows that other components or operators normally write. */
  const createAllData = async (user: TestUser) => {
    const { home, userId, traces } = await createData(uswarm, user);
    const { database } = uswarm;
    const agentId = home.agents[0]?.id;
    const uploadId = crypto.randomUUID();
    const version = (await user.get<{ data: LegalStatus }>('/v1/users/legal')).body.data.terms_of_service_version;
    await user.post('/v1/users/legal/accept', { terms_of_service_version: version }, 204);
    await user.with({ 'x-device-id': `phone of ${user.name}` }).post('/v1/push-token', { push_token: user.email }, 200);
    await sql`
      WITH delivered AS (
        INSERT INTO push_deliveries (message_id, user_id, device_id)
        SELECT m.id, d.user_id, d.device_id FROM messages m, devices d
        WHERE m.workspace_id = ${home.workspaceId} AND d.user_id = ${userId} LIMIT 1
      )
      INSERT INTO device_positions (user_id, device_id, workspace_id, seq)
      SELECT user_id, device_id, ${home.workspaceId}, 1 FROM devices WHERE user_id = ${userId}`.execute(database);
    await appendAudit(database, { actor: 'op', action: 'user.show', userId, details: { who: user.email } });
    await sql`INSERT INTO agent_memories (agent_id, key, content, category) VALUES (${agentId}, 'k', ${user.name}, 'core')`.execute(
      database,
    );
    await sql`INSERT INTO deleted_memories (agent_id, hash) VALUES (${agentId}, sha256('tea'))`.execute(database);
    await sql`INSERT INTO agent_tools (agent_id, name, enabled) VALUES (${agentId}, 'memories', false)`.execute(
      database,
    );
    await sql`INSERT INTO uploads (id, user_id, state, attached, name, transcript) VALUES (${uploadId}, ${userId}, 'stored', true, ${user.name}, ${user.name})`.execute(
      database,
    );
    await sql`
      INSERT INTO message_attachments (message_id, upload_id)
      SELECT id, ${uploadId} FROM messages WHERE conversation_id = ${home.conversationId} AND role = 'user'`.execute(
      database,
    );
    await sql`
      INSERT INTO transcriptions (upload_id, turn_id)
      SELECT ${uploadId}, id FROM turns WHERE conversation_id = ${home.conversationId} LIMIT 1`.execute(database);
    await sql`INSERT INTO spent_local_ids (workspace_id, sender_id, local_id_hash) VALUES (${home.workspaceId}, ${userId}, 'x')`.execute(
      database,
    );
    await sql`INSERT INTO idempotency_keys (user_id, key_hash, request_hash, subject_id) VALUES (${userId}, 'x', 'x', ${home.conversationId})`.execute(
      database,
    );
    const exportId = crypto.randomUUID();
    await sql`INSERT INTO exports (id, user_id, status, object_id) VALUES (${exportId}, ${userId}, 'ready', ${exportId})`.execute(
      database,
    );
    const importId = crypto.randomUUID();
    await sql`INSERT INTO imports (id, user_id, status, object_id) VALUES (${importId}, ${userId}, 'done', ${importId})`.execute(
      database,
    );
    await sql`INSERT INTO imported_receipts (workspace_id, number, jws, kid, x) VALUES (${home.workspaceId}, 0, 'j', 'k', 'x')`.execute(
      database,
    );
    await sql`
      INSERT INTO tool_definitions (server, owner_id, name, definition, hash)
      VALUES ('tracker', ${userId}, ${user.name}, '{}', 'x')`.execute(database);
    await sql`
      INSERT INTO user_tool_servers (id, user_id, name, url, auth)
      VALUES (${`own_${crypto.randomUUID().slice(0, 8)}`}, ${userId}, ${user.name}, 'https://mcp.example.com', 'oauth')`.execute(
      database,
    );
    const webhookId = crypto.randomUUID();
    await sql`
      WITH webhook AS (
        INSERT INTO webhooks (id, workspace_id, url, description, events, queued_seq)
        VALUES (${webhookId}, ${home.workspaceId}, 'https://hooks.example.com', ${user.name}, '{}', 0)
      ), secret AS (
        INSERT INTO webhook_secrets (id, webhook_id, user_id, provider, key_id, tokens)
        VALUES (${webhookId}, ${webhookId}, ${userId}, 'webhook', 'k', 'x')
      )
      INSERT INTO webhook_deliveries (id, webhook_id, seq, type, subject_id, occurred_at, response)
      VALUES (${webhookId}, ${webhookId}, 1, 'message.new', ${home.conversationId}, now(), ${user.name})`.execute(
      database,
    );
    await sql`
      INSERT INTO api_tokens (id, user_id, token_hash, name, scopes, expires_at)
      VALUES (${crypto.randomUUID()}, ${userId}, ${Buffer.from(userId)}, ${user.name}, '{read}', now() + interval '1 day')`.execute(
      database,
    );
    await storeArtifact(uswarm, home, user.name, ['- tea']);
    await storeWorkflow(uswarm, home, { name: user.name });
    const { id: scheduleId } = await createSchedule(user, home, { prompt: traces[0] });
    await sql`
      INSERT INTO schedule_runs (id, schedule_id, due_at, status) VALUES (gen_random_uuid(), ${scheduleId}, now(), 'completed')`.execute(
      database,
    );
    const triggerId = crypto.randomUUID();
    await sql`
      WITH trigger AS (
        INSERT INTO schedules (id, workspace_id, agent_id, title, prompt, status, secret_hash)
        SELECT ${triggerId}, workspace_id, agent_id, title, prompt, 'active', 'hash' FROM schedules WHERE id = ${scheduleId}
      ), secret AS (
        INSERT INTO trigger_secrets (id, user_id, provider, key_id, tokens)
        VALUES (${triggerId}, ${userId}, 'trigger', 'k', 'x')
      )
      INSERT INTO schedule_runs (id, schedule_id, due_at, status, body, body_name)
      VALUES (${triggerId}, ${triggerId}, now(), 'queued', ${Buffer.from(user.name)}, 'event.txt')`.execute(database);
    const revocationId = crypto.randomUUID();
    await sql`
      INSERT INTO conversation_summaries (conversation_id, through_seq, text)
      VALUES (${home.conversationId}, 1, ${user.name})`.execute(database);
    // These rows belong to another turn: when the real turn ends, its journal and its progress are deleted.
    const endedTurnId = crypto.randomUUID();
    await sql`
      WITH copy AS (
        INSERT INTO turns (id, workspace_id, conversation_id, agent_id, user_message_id, status)
        SELECT ${endedTurnId}, workspace_id, conversation_id, agent_id, user_message_id, 'done'
        FROM turns WHERE workspace_id = ${home.workspaceId} LIMIT 1
        RETURNING id, user_message_id
      ), tasks AS (
        INSERT INTO turn_tasks (turn_id, depth, prompt) SELECT id, 1, ${traces[0]} FROM copy
      ), delegated AS (
        INSERT INTO delegations (turn_id, parent_turn_id, call_id, message_id, status)
        SELECT id, id, ${traces[0]}, user_message_id, 'completed' FROM copy
      ), called AS (
        INSERT INTO tool_calls (turn_id, call_id, tool, text, failed, shows_message)
        SELECT id, 'c', 'recall', ${traces[0]}, false, false FROM copy
      ), started AS (
        INSERT INTO turn_contexts (turn_id, context) SELECT id, ${JSON.stringify({ name: traces[0] })}::jsonb FROM copy
      )
      INSERT INTO turn_entries (turn_id, number, generation, kind, body)
      SELECT id, 1, 1, 'step', ${JSON.stringify({ text: traces[0] })} FROM copy`.execute(database);
    await sql`INSERT INTO untrusted_contents (conversation_id, source) VALUES (${home.conversationId}, 'web')`.execute(
      database,
    );
    await sql`
      INSERT INTO tool_approvals (card_message_id, turn_id, conversation_id, call_id, tool, arguments_hash, expires_at)
      SELECT t.user_message_id, t.id, t.conversation_id, 'c', 'remember', sha256('x'), now() + interval '1 day'
      FROM turns t WHERE t.id = ${endedTurnId}`.execute(database);
    await sql`
      INSERT INTO receipts (id, user_id, workspace_id, conversation_id, agent_id, turn_id, call_id, tool, effect, arguments, arguments_hash, key)
      SELECT gen_random_uuid(), ${userId}, t.workspace_id, t.conversation_id, t.agent_id, t.id, 'c', 'send_mail', 'once',
        ${JSON.stringify({ body: traces[0] })}::jsonb, sha256('x'), 'k'
      FROM turns t WHERE t.id = ${endedTurnId}`.execute(database);
    await sql`
      INSERT INTO integrations (id, user_id, provider, key_id, tokens, code_hash)
      VALUES (${crypto.randomUUID()}, ${userId}, 'gmail', 'k', 'x', 'x')`.execute(database);
    // Tokens from an earlier connection whose revocation is pending.
    await sql`
      WITH waiting AS (
        INSERT INTO work (kind, subject_id, workspace_id, serial_key, run_at)
        VALUES ('integration-revocation', ${revocationId}, ${userId}, ${revocationId}, now() + interval '1 hour')
      )
      INSERT INTO integration_revocations (id, user_id, provider, key_id, tokens)
      VALUES (${revocationId}, ${userId}, 'gmail', 'k', 'x')`.execute(database);
    await sql`
      INSERT INTO turn_progress (turn_id, generation, applied_event, resume_from, chunk_seq, announced_step, text)
      VALUES (${endedTurnId}, 1, 1, 1, 1, 1, ${user.name})`.execute(database);
    await sql`
      INSERT INTO usage_entries (turn_id, step, user_id, workspace_id, provider, model, prompt_tokens, completion_tokens)
      VALUES (${crypto.randomUUID()}, 1, ${userId}, ${home.workspaceId}, 'p', 'm', 1, 1)`.execute(database);
    await sql`
      INSERT INTO integrations (id, user_id, provider, key_id, tokens, code_hash)
      VALUES (${crypto.randomUUID()}, ${userId}, 'google_calendar', 'k', 'x', 'x')`.execute(database);
    await sql`
      WITH made AS (
        INSERT INTO integration_revocations (id, user_id, provider, key_id, tokens)
        VALUES (${crypto.randomUUID()}, ${userId}, 'google_calendar', 'k', 'x') RETURNING id
      )
      INSERT INTO work (kind, subject_id, workspace_id, serial_key, run_at)
      SELECT 'integration-revocation', id, id, id, now() + interval '1 hour' FROM made`.execute(database);
    return [...traces, scheduleId, uploadId, exportId, importId, `phone of ${user.name}`];
  };

  /** Tables without user data, or with data that outlives the account. */
  const WITHOUT_OWNER = [
    'schema_migrations',
    'legal_documents',
    'deleted_identities',
    'deleted_usage',
    'deletion_feedback',
    'revoked_tokens',
    'integration_states',
    'receipt_keys',
    'tool_server_clients',
    'event_epoch',
  ];

  it('leaves nothing of the user in any table but the keyed hash', async () => {
    const user = await uswarm.user();
    const traces = await createAllData(user);
    const tables = Object.keys(await allRows(uswarm.database)).filter((table) => !WITHOUT_OWNER.includes(table));
    const filled = async () => {
      const rows = await rowsContaining(uswarm.database, traces);
      return [...new Set(rows.map((row) => row.slice(0, row.indexOf(':'))))].toSorted();
    };
    // Fails for a new table until `createAllData` fills it. Otherwise leftover rows would not be detected.
    expect(await eventually(filled, { until: (found) => found.length === tables.length })).toEqual(tables.toSorted());

    const why = { reason: `r ${crypto.randomUUID()}`, description: `d ${crypto.randomUUID()}` };
    await user.delete(DELETE, why, 204);
    await sql`UPDATE work SET run_at = now(), attempts = 0 WHERE kind = 'integration-revocation'`.execute(
      uswarm.database,
    );
    expect(
      await eventually(() => rowsContaining(uswarm.database, traces), { until: (rows) => rows.length === 0 }),
    ).toEqual([]);
    // Work is deleted in a later transaction than the rows that it deletes.
    const remaining = async () => {
      const stored = await allRows(uswarm.database);
      const work = (stored['work'] ?? []).filter((row) => !/-pruning|-expiry|-settling/.test(row));
      return Object.entries({ ...stored, work }).filter(
        ([table, rows]) => rows.length > 0 && !WITHOUT_OWNER.includes(table),
      );
    };
    const rest = await eventually(remaining, { until: (found) => found.length <= 1 });
    // The audit log keeps the actions without the user; for the user's own actions it keeps the keyed hash.
    expect(rest.map(([table]) => table)).toEqual(['audit_log']);
    const audit = rest.flatMap(([, rows]) => rows.map((row) => JSON.parse(row) as Record<string, unknown>));
    const gone = { user_id: null, subject_id: null, details: {} };
    expect(audit.toSorted((a, b) => String(a['action']).localeCompare(String(b['action'])))).toMatchObject([
      { action: 'account.delete', user_id: null, subject_id: null, details: { source: expect.any(String) } },
      { action: 'account.sign_up', ...gone },
      { action: 'user.show', ...gone, identity_hash: null },
    ]);
    expect((await allRows(uswarm.database))['deleted_identities']).toHaveLength(1);
    // The feedback is not linked to the account: it has no hash, no account id, and only the month as time.
    const texts = await rowsContaining(uswarm.database, [why.reason, why.description]);
    expect(texts).toHaveLength(1);
    expect(JSON.parse(texts[0]?.replace(/^deletion_feedback: /, '') ?? '')).toEqual({
      id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4/),
      month: expect.stringMatching(/^\d{4}-\d\d$/),
      ...why,
    });
  });

  it('cannot be undone: a later sign-up finds no former data except usage', async () => {
    const user = await uswarm.user();
    await createAllData(user);
    await user.delete(DELETE, {}, 204);
    await user.post('/v1/auth/sign-up', undefined, 204);
    expect((await user.get<{ data: LegalStatus }>('/v1/users/legal')).body.data.has_agreed_with_terms).toBe(false);
    const { body } = await user.get<{ data: UserUsageSummary }>('/v1/users/usage/summary');
    expect(body.data).toMatchObject({ tokens_used: 2, request_count: 1 });
  });
});
