import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import pg from 'pg';
import { fullReads } from './plans.js';

describe('the check of query plans', () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('CREATE TABLE letters AS SELECT n AS id, n % 7 AS kind FROM generate_series(1, 20000) n');
    await client.query('CREATE TABLE stamps AS SELECT n AS id FROM generate_series(1, 100) n');
    await client.query('ALTER TABLE letters ADD PRIMARY KEY (id)');
    await client.query('ANALYZE');
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const byKind = { text: '/* planned each time */ SELECT id FROM letters\n  WHERE kind = $1', values: [3] };

  it('reports a sequential scan of a large table', async () => {
    expect(await fullReads(client, [byKind])).toEqual([`letters: ${byKind.text.replaceAll(/\s+/g, ' ')}`]);
    const nested = {
      text: 'DELETE FROM stamps WHERE id = (SELECT count(*) FROM letters WHERE kind = $1)',
      values: [3],
    };
    expect(await fullReads(client, [nested])).toEqual([`letters: ${nested.text}`]);
  });

  it('accepts an index scan and a scan of a small table', async () => {
    const seen = [
      { text: 'begin', values: [] },
      { text: 'SELECT kind FROM letters WHERE id = $1', values: [5] },
      { text: 'SELECT id FROM stamps WHERE id = $1', values: [5] },
    ];
    expect(await fullReads(client, seen)).toEqual([]);
  });
});
