import { randomUUID } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  url: string;
  /** The same database for a role that has only the rights that migrations grant. */
  servingUrl: string;
  drop(): Promise<void>;
}

/** Creates an empty database on the Postgres of the test run (`TEST_POSTGRES_URL`). */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = process.env['TEST_POSTGRES_URL'];
  if (server === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests with npm test');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await execute(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const servingUrl = new URL(url);
  servingUrl.username = SERVING_ROLE;
  servingUrl.password = SERVING_ROLE;
  await createServingRole(server);
  return {
    url: url.href,
    servingUrl: servingUrl.href,
    drop: () => execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** The role of the orchestrator in all test databases. */
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

async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
