import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createTestDatabase, SERVING_ROLE, type TestDatabase } from '@uswarm/testkit';
import { sql } from 'kysely';
import { appendAudit, listAudit, pruneAuditSessions } from '../../records/audit.store.js';
import { type Database, openDatabase } from './database.js';
import { checkSchema, migrate } from './migrate.js';

describe('the serving role', () => {
  let test: TestDatabase;
  let owner: Database;
  let serving: Database;
  beforeEach(async () => {
    test = await createTestDatabase();
    await migrate(test.url, silentLogger, SERVING_ROLE);
    owner = openDatabase({ url: test.url, maxConnections: 2 });
    serving = openDatabase({ url: test.servingUrl, maxConnections: 2 });
  });
  afterEach(async () => {
    await Promise.all([owner.destroy(), serving.destroy()]);
    await test.drop();
  });

  const run = (statement: string) => sql.raw(statement).execute(serving);

  it.each([
    'CREATE TABLE stolen (id int)',
    'DROP TABLE users',
    'ALTER TABLE users ADD COLUMN x int',
    'TRUNCATE messages',
    "UPDATE audit_log SET actor = 'another operator'",
    'DELETE FROM audit_log',
    'TRUNCATE audit_log',
    "INSERT INTO schema_migrations (name, run_on) VALUES ('9999', now())",
  ])('is not allowed to run "%s"', async (statement) => {
    await expect(run(statement)).rejects.toThrow(/permission denied|must be owner/);
  });

  it('reads and writes the rows of all tables except the audit log and the migrations', async () => {
    const { rows } = await sql<{ name: string; may: boolean }>`
      SELECT c.relname AS name,
        has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
          AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE') AS may
      FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' ORDER BY 1`.execute(serving);
    expect(rows.filter(({ may }) => !may).map(({ name }) => name)).toEqual(['audit_log', 'schema_migrations']);
    expect(rows.length).toBeGreaterThan(20);
  });

  it('appends to the audit log and reads it', async () => {
    await appendAudit(serving, { actor: 'olivia', action: 'user.show' });
    expect(await listAudit(serving, 10)).toMatchObject([{ actor: 'olivia', action: 'user.show' }]);
  });

  it('gets the rights on tables of later migrations', async () => {
    await sql`CREATE TABLE later (id int)`.execute(owner);
    await run('INSERT INTO later VALUES (1)');
    expect((await run('SELECT id FROM later')).rows).toEqual([{ id: 1 }]);
  });

  it('removes a user from audit entries only after the user is deleted', async () => {
    const userId = crypto.randomUUID();
    await serving.insertInto('users').values({ id: userId, issuer: 'i', subject: 's' }).execute();
    await appendAudit(serving, {
      actor: 'olivia',
      action: 'user.ban',
      userId,
      details: { reason: 'spam' },
    });
    await sql`SELECT forget_user_in_audit(${userId})`.execute(serving);
    expect(await listAudit(serving, 1)).toMatchObject([{ user_id: userId, details: { reason: 'spam' } }]);
    await serving.deleteFrom('users').where('id', '=', userId).execute();
    await sql`SELECT forget_user_in_audit(${userId})`.execute(serving);
    expect(await listAudit(serving, 1)).toMatchObject([{ user_id: null, details: {}, actor: 'olivia' }]);
  });

  it('prunes only sign-ins and logouts older than 30 days from the audit log', async () => {
    await sql`TRUNCATE audit_log`.execute(owner);
    const entries = [
      { actor: 'user', action: 'account.sign_in', days: 100 },
      { actor: 'user', action: 'account.logout', days: 100 },
      { actor: 'user', action: 'account.logout_all', days: 100 },
      { actor: 'user', action: 'account.sign_in', days: 80 },
      { actor: 'user', action: 'account.sign_in', days: 10 },
      { actor: 'user', action: 'account.delete', days: 100 },
      { actor: 'olivia', action: 'user.ban', days: 100 },
    ];
    for (const { actor, action, days } of entries) {
      await sql`INSERT INTO audit_log (id, actor, action, at)
        VALUES (gen_random_uuid(), ${actor}, ${action}, now() - make_interval(days => ${days}))`.execute(owner);
    }
    const left = async () => (await listAudit(serving, 10)).map(({ action }) => action).toSorted();
    expect(await pruneAuditSessions(serving, new Date(Date.now() - 90 * 86_400_000), 1)).toBe(1);
    expect(await pruneAuditSessions(serving, new Date(Date.now() - 90 * 86_400_000), 10)).toBe(2);
    expect(await left()).toEqual(['account.delete', 'account.sign_in', 'account.sign_in', 'user.ban']);
    expect(await pruneAuditSessions(serving, new Date(), 10)).toBe(1);
    expect(await left()).toEqual(['account.delete', 'account.sign_in', 'user.ban']);
  });

  it('checks the schema', async () => {
    await expect(checkSchema(test.servingUrl)).resolves.toBeUndefined();
  });

  it('keeps its rights when three replicas migrate concurrently', async () => {
    const again = () => migrate(test.url, silentLogger, SERVING_ROLE);
    await Promise.all([again(), again(), again()]);
    await expect(run('DELETE FROM audit_log')).rejects.toThrow('permission denied');
  });

  it('must differ from the migration role', async () => {
    await expect(migrate(test.url, silentLogger, new URL(test.url).username)).rejects.toThrow(/DATABASE_SERVING_ROLE/);
  });
});
