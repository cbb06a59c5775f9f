import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

/** Runs a statement in the database of a local mode that runs. @param folder its data folder */
export async function queryLocalDatabase<Row extends pg.QueryResultRow>(
  folder: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const described = JSON.parse(await readFile(join(folder, 'postgres/cluster.json'), 'utf8')) as {
    password: string;
    data_directory: string;
  };
  const running = await readFile(join(described.data_directory, 'postmaster.pid'), 'utf8');
  const client = new pg.Client({
    host: '127.0.0.1',
    port: Number(running.split('\n')[3]),
    user: 'postgres',
    password: described.password,
    database: 'uswarm',
  });
  await client.connect();
  try {
    return (await client.query<Row>(sql, [...values])).rows;
  } finally {
    await client.end();
  }
}
