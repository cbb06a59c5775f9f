import { sql } from 'kysely';
import type { Database, Transaction } from '../platform/database/database.js';
import type { ToolDefinition } from '../apps/tool-servers/tool-definition.js';

export interface HashedDefinition {
  definition: ToolDefinition;
  hash: Buffer;
}

/** Where definitions come from. */
export interface DefinitionSource {
  server: string;
  /** Null if all users share the server's account. */
  ownerId: string | null;
}

export interface DefinitionRow extends HashedDefinition, DefinitionSource {
  /** Null if the tool is as it was accepted. */
  changed: ToolDefinition | null;
  isListed: boolean;
}

const ROW = ['server', 'owner_id as ownerId', 'definition', 'hash', 'changed', 'is_listed as isListed'] as const;

/** All tools that these servers have or had, by server and name. @param ownerId null for shared accounts */
export function listDefinitions(
  db: Database,
  servers: readonly string[],
  ownerId: string | null,
): Promise<DefinitionRow[]> {
  return db
    .selectFrom('tool_definitions')
    .select(ROW)
    .where('owner_id', 'is not distinct from', ownerId)
    .where('server', 'in', servers)
    .orderBy('server')
    .orderBy('name')
    .execute();
}

/** @returns undefined if the tool is not as it was accepted, or is not listed any longer */
export async function findAcceptedHash(
  db: Database,
  { server, ownerId }: DefinitionSource,
  name: string,
): Promise<Buffer | undefined> {
  const row = await db
    .selectFrom('tool_definitions')
    .select('hash')
    .where('owner_id', 'is not distinct from', ownerId)
    .where('server', '=', server)
    .where('name', '=', name)
    .where('changed', 'is', null)
    .where('is_listed', '=', true)
    .executeTakeFirst();
  return row?.hash;
}

/**
 * Stores what a server lists, and writes nothing for a list as before. New tools are accepted. A changed one keeps its definition, and is disabled.
 *
 * @returns tool names that have changed since the last listing
 */
export async function storeListing(
  tx: Transaction,
  { server, ownerId }: DefinitionSource,
  listed: readonly HashedDefinition[],
): Promise<string[]> {
  const rows = listed.map(({ definition, hash }) => ({
    definition,
    name: definition.name,
    hash: hash.toString('hex'),
  }));
  const { rows: stored } = await sql<{ name: string; isNew: boolean }>`
    WITH listed AS (
      SELECT l.name, l.definition, decode(l.hash, 'hex') AS hash
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS l(name text, definition jsonb, hash text)
    ), before AS (
      SELECT name, changed_hash FROM tool_definitions
      WHERE server = ${server} AND owner_id IS NOT DISTINCT FROM ${ownerId}
    )
    INSERT INTO tool_definitions AS t (server, owner_id, name, definition, hash)
    SELECT ${server}, ${ownerId}::uuid, name, definition, hash FROM listed
    ON CONFLICT (owner_id, server, name) DO UPDATE SET
      changed = CASE WHEN t.hash = excluded.hash THEN NULL ELSE excluded.definition END,
      changed_hash = nullif(excluded.hash, t.hash),
      is_listed = true, updated_at = now()
    WHERE NOT t.is_listed OR t.changed_hash IS DISTINCT FROM nullif(excluded.hash, t.hash)
    RETURNING t.name, (changed_hash IS NOT NULL AND changed_hash IS DISTINCT FROM
      (SELECT b.changed_hash FROM before b WHERE b.name = t.name)) AS "isNew"`.execute(tx);
  const names = rows.map(({ name }) => name);
  const gone = tx
    .updateTable('tool_definitions')
    .set({ is_listed: false })
    .where('is_listed', '=', true)
    .where('server', '=', server)
    .where('owner_id', 'is not distinct from', ownerId);
  await (names.length === 0 ? gone : gone.where('name', 'not in', names)).execute();
  return stored.flatMap(({ name, isNew }) => (isNew ? [name] : []));
}

/** @param names default: all changed tools. @returns the names that had changed */
export async function acceptChanges(
  tx: Transaction,
  { server, ownerId }: DefinitionSource,
  names?: readonly string[],
): Promise<string[]> {
  const chosen = names === undefined ? sql`true` : sql`name = ANY (${[...names]})`;
  const { rows } = await sql<{ name: string }>`
    UPDATE tool_definitions
    SET definition = changed, hash = changed_hash, changed = NULL, changed_hash = NULL, updated_at = now()
    WHERE server = ${server} AND owner_id IS NOT DISTINCT FROM ${ownerId} AND changed IS NOT NULL AND ${chosen}
    RETURNING name`.execute(tx);
  return rows.map(({ name }) => name);
}

export async function deleteDefinitions(tx: Transaction, { server, ownerId }: DefinitionSource): Promise<void> {
  await tx
    .deleteFrom('tool_definitions')
    .where('server', '=', server)
    .where('owner_id', 'is not distinct from', ownerId)
    .execute();
}
