import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';

const FOLDER = fileURLToPath(new URL('../../../../../docs/runbooks/', import.meta.url));

const queries = readdirSync(FOLDER).flatMap((file) =>
  readFileSync(`${FOLDER}${file}`, 'utf8')
    .split(/^```/m)
    .filter((block) => block.startsWith('sql\n'))
    .map((block): [file: string, query: string] => [file, block.slice('sql'.length).trim()]),
);

describe('SQL queries of the runbooks', () => {
  let db: MigratedDatabase;
  beforeAll(async () => {
    db = await createMigratedDatabase(2);
  });
  afterAll(() => db.close());

  it('finds queries in docs/runbooks', () => {
    expect(queries.length).toBeGreaterThan(5);
  });

  it.each(queries)('the query of %s runs on the current schema', async (_file, query) => {
    await expect(sql.raw(query).execute(db.database)).resolves.toMatchObject({ rows: expect.any(Array) });
  });
});
