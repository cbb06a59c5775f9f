import { sql } from 'kysely';
import type { Database } from '../src/platform/database/database.js';

/** Rows that running processes change at any time. */
const VOLATILE = ['event_outbox', 'gateways', 'relays'];

/** Reads the table names from the catalogue, so that new tables are included. */
async function tables(database: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> ALL(${VOLATILE})
    ORDER BY 1`.execute(database);
  return rows.map(({ name }) => name);
}

/** Leaves out `published_at`, which the relay sets at any time. */
export async function allRows(database: Database): Promise<Record<string, string[]>> {
  const stored: Record<string, string[]> = {};
  for (const table of await tables(database)) {
    const { rows } = await sql<{ row: string }>`
      SELECT (to_jsonb(t) - 'published_at')::text AS row FROM ${sql.table(table)} t ORDER BY 1`.execute(database);
    stored[table] = rows.map(({ row }) => row);
  }
  return stored;
}

/** Returns rows, as `table: row`, that contain one of the texts, ignoring case. */
export async function rowsContaining(database: Database, texts: readonly string[]): Promise<string[]> {
  const wanted = texts.map((text) => text.toLowerCase());
  return Object.entries(await allRows(database)).flatMap(([table, rows]) =>
    rows.filter((row) => wanted.some((text) => row.toLowerCase().includes(text))).map((row) => `${table}: ${row}`),
  );
}

/** As `rowsContaining`, but case-sensitive and searched by Postgres in one statement, for large tables. */
export async function searchRows(database: Database, texts: readonly string[]): Promise<string[]> {
  const patterns = texts.map((text) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`);
  const searches = (await tables(database)).map(
    (table) => sql`
      SELECT ${table}::text AS name, row
      FROM (SELECT (to_jsonb(t) - 'published_at')::text AS row FROM ${sql.table(table)} t) stored
      WHERE row LIKE ANY (${patterns}::text[])`,
  );
  const all = sql<{ name: string; row: string }>`${sql.join(searches, sql` UNION ALL `)} ORDER BY name, row`;
  const { rows } = await all.execute(database);
  return rows.map(({ name, row }) => `${name}: ${row}`);
}
