import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { sql } from 'kysely';
import { storedRows } from '../../test/stored.js';
import { type Database, openDatabase } from './database.js';
import { checkSchema, migrate } from './migrate.js';

const MIGRATIONS = new URL('../../migrations/', import.meta.url);

describe('migrations', () => {
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

  it('bring an empty database up to date', async () => {
    await up();
    expect(await applied()).toEqual(files);
  });

  it('run twice change nothing the second time', async () => {
    await up();
    const before = await storedRows(database);
    await up();
    expect(await storedRows(database)).toEqual(before);
  });

  it('run by three replicas at once are applied once, and all three go on', async () => {
    await Promise.all([up(), up(), up()]);
    expect(await applied()).toEqual(files);
  });

  it('leave a transaction of a replica that runs already alone', async () => {
    await up();
    await database.transaction().execute(async (tx) => {
      await tx.insertInto('users').values({ id: crypto.randomUUID(), issuer: 'i', subject: 's' }).execute();
      await up();
    });
    expect((await storedRows(database))['users']).toHaveLength(1);
  });

  describe('a schema', () => {
    const record = (name: string) =>
      sql`INSERT INTO schema_migrations (name, run_on) VALUES (${name}, now())`.execute(database);

    it('that is up to date is what this version needs', async () => {
      await up();
      await expect(checkSchema(testDatabase.url)).resolves.toBeUndefined();
    });

    it('that is not there is older than this version needs', async () => {
      await expect(checkSchema(testDatabase.url)).rejects.toThrow(
        `the database schema is older than this version needs: ${files.join(', ')} are missing; run dist/migrate-main.js first, or start with MIGRATE=true`,
      );
    });

    it('that lacks the last migration is older than this version needs', async () => {
      await up();
      const last = files.at(-1);
      await sql`DELETE FROM schema_migrations WHERE name = ${last}`.execute(database);
      await expect(checkSchema(testDatabase.url)).rejects.toThrow(`needs: ${last} is missing;`);
    });

    it('of a later version serves, and is left as it is', async () => {
      await up();
      await record('9999_of_later');
      await up();
      await expect(checkSchema(testDatabase.url)).resolves.toBeUndefined();
      expect(await applied()).toEqual([...files, '9999_of_later']);
    });
  });

  it.each(readdirSync(MIGRATIONS))('%s says how to get back', (name) => {
    expect(readFileSync(new URL(name, MIGRATIONS), 'utf8')).toMatch(
      /^-- Up Migration\n[\s\S]+\n-- Down Migration\n[\s\S]+;/,
    );
  });
});
