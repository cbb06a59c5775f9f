import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { toApiError } from '../http/errors.js';
import type { Database } from './database.js';

/** Foreign keys, as `table.columns`, without a valid non-partial index that begins with their columns. */
async function unindexedForeignKeys(database: Database): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    SELECT c.conrelid::regclass || '.' || (
      SELECT string_agg(a.attname, ',' ORDER BY k.n)
      FROM unnest(c.conkey) WITH ORDINALITY k (attnum, n)
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum
    ) AS key
    FROM pg_constraint c
    WHERE c.contype = 'f' AND c.connamespace = 'public'::regnamespace AND NOT EXISTS (
      SELECT 1 FROM pg_index i
      WHERE i.indrelid = c.conrelid AND i.indisvalid AND i.indpred IS NULL
        -- The order of the leading columns does not matter, because a lookup has values for all of them.
        AND (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey
    )
    ORDER BY 1`.execute(database);
  return rows.map(({ key }) => key);
}

async function foreignKeysTo(parent: string, database: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT conname AS name FROM pg_constraint WHERE contype = 'f' AND confrelid = ${parent}::regclass`.execute(
    database,
  );
  return rows.map(({ name }) => name);
}

describe('foreignKeysTo', () => {
  let db: MigratedDatabase;
  beforeAll(async () => {
    db = await createMigratedDatabase();
  });
  afterAll(() => db.close());

  it.each([
    ['users', 'user_deleted'],
    ['workspaces', 'workspace_not_found'],
    ['conversations', 'conversation_not_found'],
    ['agents', 'agent_not_found'],
  ])('finds keys to %s whose violation clients see as %s', async (parent, code) => {
    const names = await foreignKeysTo(parent, db.database);
    expect(names.length).toBeGreaterThan(0);
    const codes = names.map((constraint) => toApiError({ code: '23503', constraint }).code);
    expect(codes).toEqual(names.map(() => code));
  });
});

describe('unindexedForeignKeys', () => {
  let db: MigratedDatabase;
  beforeAll(async () => {
    db = await createMigratedDatabase();
  });
  afterAll(() => db.close());

  it('finds no foreign key without an index, so that deletions scan no table', async () => {
    expect(await unindexedForeignKeys(db.database)).toEqual([]);
  });

  it('finds a foreign key without an index on its leading columns', async () => {
    await sql`CREATE TABLE parents (id int, part int, PRIMARY KEY (id, part))`.execute(db.database);
    await sql`CREATE TABLE children (n int, id int, part int, FOREIGN KEY (id, part) REFERENCES parents)`.execute(
      db.database,
    );
    await sql`CREATE INDEX second ON children (n, id, part)`.execute(db.database);
    await sql`CREATE INDEX half ON children (id, n)`.execute(db.database);
    await sql`CREATE INDEX partial ON children (id, part) WHERE n > 0`.execute(db.database);
    expect(await unindexedForeignKeys(db.database)).toEqual(['children.id,part']);
    await sql`CREATE INDEX whole ON children (part, id, n)`.execute(db.database);
    expect(await unindexedForeignKeys(db.database)).toEqual([]);
  });
});
