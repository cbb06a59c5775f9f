import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { sql } from 'kysely';
import { allRows } from '../../../test/database-rows.js';
import { type Database, openDatabase } from './database.js';
import { checkSchema, migrate } from './migrate.js';

const MIGRATIONS = new URL('../../../migrations/', import.meta.url);

describe('migrate', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = openDatabase({ url: testDatabase.url, maxConnections: 2 });
  });
  afterEach(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  const up = () => migrate(testDatabase.url, silentLogger);
  const applied = async () =>
    (await sql<{ name: string }>`SELECT name FROM schema_migrations ORDER BY name`.execute(database)).rows.map(
      ({ name }) => name,
    );
  const files = readdirSync(MIGRATIONS)
    .map((name) => name.replace('.sql', ''))
    .toSorted();

  it('migrates an empty database', async () => {
    await up();
    expect(await applied()).toEqual(files);
  });

  it('changes nothing when it runs a second time', async () => {
    await up();
    const before = await allRows(database);
    await up();
    expect(await allRows(database)).toEqual(before);
  });

  it('applies migrations once when three replicas run it concurrently, and all three succeed', async () => {
    await Promise.all([up(), up(), up()]);
    expect(await applied()).toEqual(files);
  });

  it('does not affect an open transaction of a running replica', async () => {
    await up();
    await database.transaction().execute(async (tx) => {
      await tx.insertInto('users').values({ id: crypto.randomUUID(), issuer: 'i', subject: 's' }).execute();
      await up();
    });
    expect((await allRows(database))['users']).toHaveLength(1);
  });

  describe('checkSchema', () => {
    const record = (name: string) =>
      sql`INSERT INTO schema_migrations (name, run_on) VALUES (${name}, now())`.execute(database);

    it('accepts a schema that is up to date', async () => {
      await up();
      await expect(checkSchema(testDatabase.url)).resolves.toBeUndefined();
    });

    it('rejects an empty database and names all migrations', async () => {
      await expect(checkSchema(testDatabase.url)).rejects.toThrow(
        `the database schema is older than this version needs: ${files.join(', ')} are missing; run dist/migrate-main.js first, or start with MIGRATE=true`,
      );
    });

    it('rejects a schema without the last migration', async () => {
      await up();
      const last = files.at(-1);
      await sql`DELETE FROM schema_migrations WHERE name = ${last}`.execute(database);
      await expect(checkSchema(testDatabase.url)).rejects.toThrow(`needs: ${last} is missing;`);
    });

    it('accepts a schema of a later version, which migrate leaves unchanged', async () => {
      await up();
      await record('9999_of_later');
      await up();
      await expect(checkSchema(testDatabase.url)).resolves.toBeUndefined();
      expect(await applied()).toEqual([...files, '9999_of_later']);
    });
  });

  it.each(readdirSync(MIGRATIONS))('%s has a down migration', (name) => {
    expect(readFileSync(new URL(name, MIGRATIONS), 'utf8')).toMatch(
      /^-- Up Migration\n[\s\S]+\n-- Down Migration\n[\s\S]+;/,
    );
  });
});
