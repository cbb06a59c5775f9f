import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { LegalStatus, MessageData, UserProfile, UserUsageSummary } from '@uswarm/contract';
import { sql } from 'kysely';
import { eventually } from '../../../test/eventually.js';
import { rowsWith, storedRows } from '../../../test/stored.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import type { Transaction } from '../../database/database.js';
import { createAuditStore } from '../admin/audit.store.js';
import { withoutAfterCommit } from '../../../test/transaction.js';

const DELETE = '/v1/auth/delete';

async function somethingToLose(uswarm: TestOrchestrator, user: TestUser) {
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

  it('REST-009 DELETE /v1/auth/delete takes reason and description and answers 204', async () => {
    const user = await uswarm.user();
    const why = { reason: `r-${crypto.randomUUID()}`, description: 'It was nice, but.' };
    expect((await user.delete(DELETE, why, 204)).body).toBeUndefined();
    expect(await user.refusal('GET', '/v1/users/profile')).toBe('user_deleted');
    const kept = await rowsWith(uswarm.database, [why.reason]);
    expect(kept.map((row) => row.slice(0, row.indexOf(':')))).toEqual(['deletion_feedback']);
  });

  it('takes no body too', async () => {
    const user = await uswarm.user();
    expect((await user.delete(DELETE, undefined, 204)).status).toBe(204);
  });

  it('leaves other users alone', async () => {
    const [leaving, staying] = [await uswarm.user(), await uswarm.user()];
    const { traces } = await somethingToLose(uswarm, staying);
    const before = await rowsWith(uswarm.database, traces);
    await somethingToLose(uswarm, leaving);
    await leaving.delete(DELETE, {}, 204);
    expect(await rowsWith(uswarm.database, traces)).toEqual(before);
  });

  it('is user_not_found to who never signed up', async () => {
    const person = await uswarm.stranger();
    expect(await person.refusal('DELETE', DELETE, {})).toBe('user_not_found');
  });

  it.each([
    ['POST', '/v1/auth/sign-in'],
    ['DELETE', DELETE],
    ['GET', '/v1/users/profile'],
    ['GET', '/v1/workspaces'],
  ] as const)('is final: %s %s answers user_deleted', async (method, path) => {
    const user = await uswarm.user();
    await user.delete(DELETE, {}, 204);
    expect(await user.refusal(method, path)).toBe('user_deleted');
  });

  it('a sign-up afterwards makes a new user that has nothing of the old one', async () => {
    const user = await uswarm.user();
    const { home, traces } = await somethingToLose(uswarm, user);
    await user.delete(DELETE, {}, 204);
    await user.post('/v1/auth/sign-up', undefined, 204);
    const anew = await uswarm.home(user);
    expect(anew.workspaceId).not.toBe(home.workspaceId);
    expect((await user.get<{ data: unknown[] }>(anew.messages)).body.data).toEqual([]);
    expect(traces).not.toContain(anew.conversationId);
  });

  it('of a banned user is refused, so that a ban cannot be shaken off', async () => {
    const user = await uswarm.user();
    await uswarm.database.updateTable('users').set({ is_banned: true }).where('email', '=', user.email).execute();
    const before = await storedRows(uswarm.database);
    expect(await user.refusal('DELETE', DELETE, {})).toBe('user_banned');
    expect(await storedRows(uswarm.database)).toEqual(before);
  });

  /** Deletes the account while another transaction, which wrote something already, goes on to take a seq. */
  const deleteDuring = async (user: TestUser, home: Home, write: (tx: Transaction) => Promise<unknown>) => {
    const { deleting } = await uswarm.database.transaction().execute(async (tx) => {
      await write(withoutAfterCommit(tx));
      const started = user.delete(DELETE, {}, 204);
      await eventually(
        () => waiting(uswarm),
        (count) => count > 0,
      );
      await tx
        .updateTable('workspaces')
        .set({ last_seq: sql`last_seq + 1` })
        .where('id', '=', home.workspaceId)
        .execute();
      return { deleting: started };
    });
    return deleting;
  };

  it('while a reply is being written, waits for its transaction and loses none of the two', async () => {
    const user = await uswarm.user();
    const { home } = await somethingToLose(uswarm, user);
    const { status } = await deleteDuring(user, home, async (tx) => {
      // As a reply writes: the lease first, then a message, the event last.
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

  it('while the state of a runtime is recorded, waits for that transaction and loses none of the two', async () => {
    const user = await uswarm.user();
    const { home } = await somethingToLose(uswarm, user);
    const { status } = await deleteDuring(user, home, (tx) =>
      tx.updateTable('runtimes').set({ reason: 'Looked' }).where('workspace_id', '=', home.workspaceId).execute(),
    );
    expect(status).toBe(204);
  });

  it('takes the lease from a reply that is being written, so that nothing more of it is stored', async () => {
    const user = await uswarm.user();
    const { home } = await somethingToLose(uswarm, user);
    await user.delete(DELETE, {}, 204);
    const turns = uswarm.database
      .selectFrom('work')
      .selectAll()
      .where('workspace_id', '=', home.workspaceId)
      .where('kind', '=', 'turn');
    expect(await turns.execute()).toEqual([]);
  });
});

/** How many statements in the database wait for a lock. */
async function waiting({ database }: TestOrchestrator): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(database);
  return rows[0]?.count ?? 0;
}

describe('account deletion with a runtime', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: { RUNTIME_WORKERS: '2', TURN_WORKERS: '2', UPKEEP_WORKERS: '2' },
    });
  });
  afterAll(() => uswarm.close());

  /** Rows that only make sense once something else of the system wrote them, or an operator did. */
  const everythingToLose = async (user: TestUser) => {
    const { home, userId, traces } = await somethingToLose(uswarm, user);
    const { database } = uswarm;
    const agentId = home.agents[0]?.id;
    const uploadId = crypto.randomUUID();
    const version = (await user.get<{ data: LegalStatus }>('/v1/users/legal')).body.data.terms_of_service_version;
    await user.post('/v1/users/legal/accept', { terms_of_service_version: version }, 204);
    await user.with({ 'x-device-id': `phone of ${user.name}` }).post('/v1/push-token', { push_token: user.email }, 200);
    await createAuditStore(database).append({ actor: 'op', action: 'user.show', userId, details: { who: user.email } });
    await sql`INSERT INTO agent_memories (agent_id, key, content, category) VALUES (${agentId}, 'k', ${user.name}, 'core')`.execute(
      database,
    );
    await sql`INSERT INTO agent_tools (agent_id, name, enabled) VALUES (${agentId}, 'memories', false)`.execute(
      database,
    );
    await sql`INSERT INTO uploads (id, user_id, state, attached, name) VALUES (${uploadId}, ${userId}, 'stored', true, ${user.name})`.execute(
      database,
    );
    await sql`
      INSERT INTO message_attachments (message_id, upload_id)
      SELECT id, ${uploadId} FROM messages WHERE conversation_id = ${home.conversationId} AND role = 'user'`.execute(
      database,
    );
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
    const revocationId = crypto.randomUUID();
    await sql`
      INSERT INTO integrations (id, user_id, provider, key_id, tokens, code_hash)
      VALUES (${crypto.randomUUID()}, ${userId}, 'github', 'k', 'x', 'x')`.execute(database);
    // Tokens of before that their provider could not be told of yet.
    await sql`
      WITH waiting AS (
        INSERT INTO work (kind, subject_id, workspace_id, serial_key, run_at)
        VALUES ('integration-revocation', ${revocationId}, ${userId}, ${revocationId}, now() + interval '1 hour')
      )
      INSERT INTO integration_revocations (id, user_id, provider, key_id, tokens)
      VALUES (${revocationId}, ${userId}, 'github', 'k', 'x')`.execute(database);
    await sql`
      INSERT INTO usage_entries (turn_id, step, user_id, workspace_id, provider, model, prompt_tokens, completion_tokens)
      VALUES (${crypto.randomUUID()}, 1, ${userId}, ${home.workspaceId}, 'p', 'm', 1, 1)`.execute(database);
    await sql`
      INSERT INTO integrations (id, user_id, provider, key_id, tokens, code_hash)
      VALUES (${crypto.randomUUID()}, ${userId}, 'zoom', 'k', 'x', 'x')`.execute(database);
    await sql`
      WITH made AS (
        INSERT INTO integration_revocations (id, user_id, provider, key_id, tokens)
        VALUES (${crypto.randomUUID()}, ${userId}, 'slack', 'k', 'x') RETURNING id
      )
      INSERT INTO work (kind, subject_id, workspace_id, serial_key, run_at)
      SELECT 'integration-revocation', id, id, id, now() + interval '1 hour' FROM made`.execute(database);
    return [...traces, uploadId, exportId, `phone of ${user.name}`];
  };

  /** Tables that hold no data of users. */
  const OF_NOBODY = [
    'schema_migrations',
    'legal_documents',
    'deleted_identities',
    'deleted_usage',
    'deletion_feedback',
    'revoked_tokens',
    'integration_states',
  ];

  it('leaves nothing of the user in any table but the keyed hash', async () => {
    const user = await uswarm.user();
    const traces = await everythingToLose(user);
    const tables = Object.keys(await storedRows(uswarm.database)).filter((table) => !OF_NOBODY.includes(table));
    const filled = async () => {
      const rows = await rowsWith(uswarm.database, traces);
      return [...new Set(rows.map((row) => row.slice(0, row.indexOf(':'))))].toSorted();
    };
    // A new table is named here until `everythingToLose` fills it: otherwise leftovers in it would go unnoticed.
    expect(await eventually(filled, (found) => found.length === tables.length)).toEqual(tables.toSorted());

    const why = { reason: `r ${crypto.randomUUID()}`, description: `d ${crypto.randomUUID()}` };
    await user.delete(DELETE, why, 204);
    await sql`UPDATE work SET run_at = now() WHERE kind = 'integration-revocation'`.execute(uswarm.database);
    expect(
      await eventually(
        () => rowsWith(uswarm.database, traces),
        (rows) => rows.length === 0,
      ),
    ).toEqual([]);
    const stored = await storedRows(uswarm.database);
    // Jobs without an owner continue.
    const left = { ...stored, work: (stored['work'] ?? []).filter((row) => !row.includes('-pruning')) };
    const rest = Object.entries(left).filter(([table, rows]) => rows.length > 0 && !OF_NOBODY.includes(table));
    // What was done stays, and no longer to whom; of the user's own doing the keyed hash stays, as of the account.
    expect(rest.map(([table]) => table)).toEqual(['audit_log']);
    const audit = rest.flatMap(([, rows]) => rows.map((row) => JSON.parse(row) as Record<string, unknown>));
    const gone = { user_id: null, subject_id: null, details: {} };
    expect(audit.toSorted((a, b) => String(a['action']).localeCompare(String(b['action'])))).toMatchObject([
      { action: 'account.delete', user_id: null, subject_id: null, details: { source: expect.any(String) } },
      { action: 'account.sign_up', ...gone },
      { action: 'user.show', ...gone, identity_hash: null },
    ]);
    expect(stored['deleted_identities']).toHaveLength(1);
    // What the client wrote is joined to nothing: no hash, no id of the account, no time but the month.
    const texts = await rowsWith(uswarm.database, [why.reason, why.description]);
    expect(texts).toHaveLength(1);
    expect(JSON.parse(texts[0]?.replace(/^deletion_feedback: /, '') ?? '')).toEqual({
      id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4/),
      month: expect.stringMatching(/^\d{4}-\d\d$/),
      ...why,
    });
  });

  it('cannot be undone: a later sign-up finds no former data except usage', async () => {
    const user = await uswarm.user();
    await everythingToLose(user);
    await user.delete(DELETE, {}, 204);
    await user.post('/v1/auth/sign-up', undefined, 204);
    expect((await user.get<{ data: LegalStatus }>('/v1/users/legal')).body.data.has_agreed_with_terms).toBe(false);
    const { body } = await user.get<{ data: UserUsageSummary }>('/v1/users/usage/summary');
    expect(body.data).toMatchObject({ tokens_used: 2, request_count: 1 });
  });
});
