import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData, UserProfile } from '@uswarm/contract';
import { sql } from 'kysely';
import { eventually } from '../../../test/eventually.js';
import { rowsWith, storedRows } from '../../../test/stored.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import type { Database } from '../../database/database.js';

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
    expect(kept.map((row) => row.slice(0, row.indexOf(':')))).toEqual(['deleted_identities']);
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
  const deleteDuring = async (user: TestUser, home: Home, write: (tx: Database) => Promise<unknown>) => {
    const { deleting } = await uswarm.database.transaction().execute(async (tx) => {
      await write(tx);
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
    uswarm = await startTestOrchestrator({ environment: { RUNTIME_WORKERS: '2', TURN_WORKERS: '2' } });
  });
  afterAll(() => uswarm.close());

  it('leaves nothing of the user in any table but the keyed hash', async () => {
    const user = await uswarm.user();
    const { traces } = await somethingToLose(uswarm, user);
    expect(await rowsWith(uswarm.database, traces)).not.toEqual([]);
    await user.delete(DELETE, {}, 204);
    expect(
      await eventually(
        () => rowsWith(uswarm.database, traces),
        (rows) => rows.length === 0,
      ),
    ).toEqual([]);
    const { schema_migrations: _, ...stored } = await storedRows(uswarm.database);
    const rest = Object.entries(stored).filter(([, rows]) => rows.length > 0);
    expect(rest.map(([table, rows]) => [table, rows.length])).toEqual([['deleted_identities', 1]]);
  });
});
