import { sql } from 'kysely';
import type { Database } from '../src/database/database.js';

/** What the tables hold, however many there are: a new table is looked at without being named here. */

async function tables(database: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1`.execute(database);
  return rows.map(({ name }) => name);
}

/** Every row of every table as JSON text. `published_at` is left out: the relay sets it in its own time. */
export async function storedRows(database: Database): Promise<Record<string, string[]>> {
  const stored: Record<string, string[]> = {};
  for (const table of await tables(database)) {
    const { rows } = await sql<{ row: string }>`
      SELECT (to_jsonb(t) - 'published_at')::text AS row FROM ${sql.table(table)} t ORDER BY 1`.execute(database);
    stored[table] = rows.map(({ row }) => row);
  }
  return stored;
}

/** The rows, as `table: row`, that hold one of the texts anywhere, whatever its letter case. */
export async function rowsWith(database: Database, texts: readonly string[]): Promise<string[]> {
  const wanted = texts.map((text) => text.toLowerCase());
  return Object.entries(await storedRows(database)).flatMap(([table, rows]) =>
    rows.filter((row) => wanted.some((text) => row.toLowerCase().includes(text))).map((row) => `${table}: ${row}`),
  );
}

/** The same for a few texts among very many rows: the database looks for them. */
export async function rowsNaming(database: Database, texts: readonly string[]): Promise<string[]> {
  const patterns = texts.map((text) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`);
  const found: string[] = [];
  for (const table of await tables(database)) {
    const { rows } = await sql<{ row: string }>`
      SELECT row FROM (SELECT (to_jsonb(t) - 'published_at')::text AS row FROM ${sql.table(table)} t) stored
      WHERE row LIKE ANY (${patterns}) ORDER BY 1`.execute(database);
    found.push(...rows.map(({ row }) => `${table}: ${row}`));
  }
  return found;
}
