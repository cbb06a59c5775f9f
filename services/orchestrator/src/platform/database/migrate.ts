import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from '@uswarm/service-kit';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { grantServingRole } from './serving-role.js';

const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url));
const TABLE = 'schema_migrations';
const CONNECT_MS = 10_000;
const UNDEFINED_TABLE = '42P01';

/**
 * Several replicas may migrate concurrently: the runner holds an advisory lock that the others wait for. Migrations
 * expand the schema first and contract it in a later release.
 *
 * @param servingRole is granted the rights that serving needs; undefined if the migration role also serves
 */
export async function migrate(databaseUrl: string, logger: Logger, servingRole?: string): Promise<void> {
  const log = logger.child({ part: 'migrations' });
  const applied = await runner({
    databaseUrl: { connectionString: databaseUrl, connectionTimeoutMillis: CONNECT_MS },
    dir: `${MIGRATIONS}/*.sql`,
    useGlob: true,
    direction: 'up',
    migrationsTable: TABLE,
    checkOrder: true,
    advisoryLockMode: 'wait',
    logger: {
      debug: (text) => log.debug(text),
      info: (text) => log.debug(text),
      warn: (text) => log.warn(text),
      error: (text) => log.error(text),
    },
  });
  if (servingRole !== undefined) await grantServingRole(databaseUrl, servingRole);
  log.info({ applied: applied.map(({ name }) => name) }, 'the schema is up to date');
}

/**
 * Checks that the schema has all this version's migrations. A later version's schema is accepted.
 *
 * @throws Error naming the missing migrations
 */
export async function checkSchema(databaseUrl: string): Promise<void> {
  const needed = readdirSync(MIGRATIONS)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => path.basename(file, '.sql'))
    .toSorted();
  const applied = new Set(await appliedMigrations(databaseUrl));
  const missing = needed.filter((name) => !applied.has(name));
  if (missing.length === 0) return;
  throw new Error(
    `the database schema is older than this version needs: ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing; run dist/migrate-main.js first, or start with MIGRATE=true`,
  );
}

async function appliedMigrations(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: CONNECT_MS });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(`SELECT name FROM ${TABLE}`);
    return rows.map(({ name }) => name);
  } catch (error) {
    if ((error as { code?: unknown }).code === UNDEFINED_TABLE) return [];
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}
