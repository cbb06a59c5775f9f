import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { sql } from 'kysely';
import { storedRows } from '../../test/stored.js';
import { type Database, openDatabase } from './database.js';
import { migrate } from './migrate.js';

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

  it.each(readdirSync(MIGRATIONS))('%s says how to get back', (name) => {
    expect(readFileSync(new URL(name, MIGRATIONS), 'utf8')).toMatch(
      /^-- Up Migration\n[\s\S]+\n-- Down Migration\n[\s\S]+;/,
    );
  });
});
