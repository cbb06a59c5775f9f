import { randomUUID } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  url: string;
  /** The same database for a role that has only the rights that migrations grant. */
  servingUrl: string;
  drop(): Promise<void>;
}

/** A schema that all tests in a run share. */
export interface DatabaseTemplate {
  /** Lower-case letters and digits; another one for each content. */
  key: string;
  /** Creates the content in an empty database. */
  prepare(url: string): Promise<void>;
}

/**
 * Creates a database on the test run's Postgres (`TEST_POSTGRES_URL`). It is empty, or a copy of the template, which is
 * prepared once per server: copying takes a tenth of the time that all migrations take.
 */
export async function createTestDatabase(template?: DatabaseTemplate): Promise<TestDatabase> {
  const server = process.env['TEST_POSTGRES_URL'];
  if (server === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests with npm test');
  await createServingRole(server);
  const copied = template === undefined ? '' : `TEMPLATE ${await prepared(server, template)}`;
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  // Faster than the default for a database of this size.
  await execute(server, `CREATE DATABASE ${name} ${copied} STRATEGY file_copy`);
  const url = urlOf(server, name);
  const servingUrl = new URL(url);
  servingUrl.username = SERVING_ROLE;
  servingUrl.password = SERVING_ROLE;
  return {
    url,
    servingUrl: servingUrl.href,
    drop: () => execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

/** @returns the name of the database that has the template's content */
function prepared(server: string, { key, prepare }: DatabaseTemplate): Promise<string> {
  const name = `template_${key}`;
  return withClient(server, async (client) => {
    // The other workers wait for the first one. The lock ends with the connection.
    await client.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [name]);
    const { rows } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rows.length > 0) return name;
    // A draft remains if an earlier preparation failed.
    const draft = `${name}_draft`;
    await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${draft}`);
    await prepare(urlOf(server, draft));
    await client.query(`ALTER DATABASE ${draft} RENAME TO ${name}`);
    return name;
  });
}

/** The orchestrator's role in all test databases. */
export const SERVING_ROLE = 'uswarm_serving';

let servingRole: Promise<void> | undefined;

/** Roles belong to the server, which all tests share. */
function createServingRole(server: string): Promise<void> {
  servingRole ??= execute(server, `CREATE ROLE ${SERVING_ROLE} LOGIN PASSWORD '${SERVING_ROLE}'`).catch(
    (error: { code?: unknown }) => {
      // Another worker created it.
      if (error.code !== '42710' && error.code !== '23505') throw error;
    },
  );
  return servingRole;
}

async function execute(server: string, statement: string): Promise<void> {
  await withClient(server, (client) => client.query(statement));
}

async function withClient<Result>(server: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
