import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { type EntryPoint, startEntryPoint } from '../entry-point.js';
import { type Database, openDatabase } from '../../src/platform/database/database.js';
import { checkSchema } from '../../src/platform/database/migrate.js';

describe('the migration program', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let running: EntryPoint[] = [];
  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = openDatabase({ url: testDatabase.url, maxConnections: 2 });
  });
  afterEach(async () => {
    await Promise.all(running.map((program) => program.stop()));
    running = [];
    await database.destroy();
    await testDatabase.drop();
  });

  const start = (env: Record<string, string> = {}): EntryPoint => {
    const program = startEntryPoint('migrate-main', { DATABASE_URL: testDatabase.url, ...env });
    running.push(program);
    return program;
  };
  const lastLine = ({ lines }: EntryPoint) => JSON.parse(lines.at(-1) ?? '{}') as { level?: string; msg?: string };

  it('migrates the schema with only DATABASE_URL set and exits with 0', async () => {
    const program = start();
    expect(await program.exitCode).toBe(0);
    expect(lastLine(program)).toMatchObject({
      msg: 'the schema is up to date',
      applied: expect.arrayContaining(['0001_initial']),
    });
    await expect(checkSchema(testDatabase.url)).resolves.toBeUndefined();
  });

  it('applies each migration once when three processes run concurrently, and all exit with 0', async () => {
    const programs = [start(), start(), start()];
    expect(await Promise.all(programs.map(({ exitCode }) => exitCode))).toEqual([0, 0, 0]);
    const applied = programs.flatMap((program) => (lastLine(program) as { applied?: string[] }).applied ?? []);
    const { rows } = await sql<{ name: string }>`SELECT name FROM schema_migrations ORDER BY id`.execute(database);
    expect(applied.toSorted()).toEqual(rows.map(({ name }) => name));
  });

  it('exits with 1 after a failed migration, which is rolled back', async () => {
    await sql`CREATE TABLE users (id int)`.execute(database);
    const program = start();
    expect(await program.exitCode).toBe(1);
    expect(lastLine(program)).toMatchObject({
      level: 'fatal',
      msg: expect.stringContaining('relation "users" already exists'),
    });
    const { rows } = await sql<{ name: string }>`
      SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_name IN ('users', 'workspaces')`.execute(
      database,
    );
    expect(rows).toEqual([{ name: 'users' }]);
  });

  it('exits with 2 without configuration', async () => {
    const program = start({ DATABASE_URL: '' });
    expect(await program.exitCode).toBe(2);
    expect(lastLine(program)).toMatchObject({ level: 'fatal', msg: 'DATABASE_URL is not set' });
  });

  it('exits with 3 immediately when the database rejects the connection', async () => {
    const url = new URL(testDatabase.url);
    url.pathname = '/nowhere';
    const program = start({ DATABASE_URL: url.href, DATABASE_WAIT_S: '3600' });
    expect(await program.exitCode).toBe(3);
    expect(lastLine(program).msg).toBe('the database rejected the connection: database "nowhere" does not exist');
  });

  describe('without a database', () => {
    let proxy: FaultInjectionProxy;
    beforeEach(async () => {
      proxy = await startFaultInjectionProxy(testDatabase.url);
      await proxy.disconnect();
    });
    afterEach(() => proxy.close());
    const startByProxy = (env: Record<string, string> = {}) =>
      start({ DATABASE_URL: proxy.redirect(testDatabase.url), ...env });
    const waiting = (program: EntryPoint) =>
      eventually(() => program.lines.join('\n'), { until: (lines) => lines.includes('waiting for the database') });

    it('waits for the database and then migrates', async () => {
      const program = startByProxy();
      expect(await waiting(program)).toContain('waiting for the database');
      await proxy.restore();
      expect(await program.exitCode).toBe(0);
      await expect(checkSchema(testDatabase.url)).resolves.toBeUndefined();
    });

    it('exits with 3 and a message after the configured wait', async () => {
      const program = startByProxy({ DATABASE_WAIT_S: '1' });
      expect(await program.exitCode).toBe(3);
      expect(lastLine(program)).toMatchObject({
        level: 'fatal',
        msg: expect.stringMatching(/^the database did not respond within 1 seconds: /),
      });
    });

    it('exits on SIGTERM, even as PID 1 of a container', async () => {
      const program = startByProxy();
      await waiting(program);
      await program.stop();
      expect(await program.exitCode).toBe(143);
    });
  });
});
