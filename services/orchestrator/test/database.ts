import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { silentLogger } from '@uswarm/service-kit';
import { createTestDatabase, type DatabaseTemplate, SERVING_ROLE } from '@uswarm/testkit';
import { type Database, openDatabase, type WithTransaction } from '../src/platform/database/database.js';
import { createWithTransaction } from '../src/platform/database/transaction.js';
import { migrate } from '../src/platform/database/migrate.js';

export interface MigratedDatabase {
  url: string;
  database: Database;
  withTransaction: WithTransaction;
  close(): Promise<void>;
}

/** The migrated schema, with the rights of the serving role. */
export const SCHEMA: DatabaseTemplate = {
  key: schemaKey(),
  prepare: (url) => migrate(url, silentLogger, SERVING_ROLE),
};

/** A Postgres that several runs share has one template for each content of these files. */
function schemaKey(): string {
  const service = path.join(import.meta.dirname, '..');
  const migrations = readdirSync(path.join(service, 'migrations')).toSorted();
  const files = [...migrations.map((file) => `migrations/${file}`), 'src/platform/database/serving-role.ts'];
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(path.join(service, file)));
  return hash.digest('hex').slice(0, 12);
}

/** Long enough for the insertion of bulk data on a busy machine. */
const STATEMENT_TIMEOUT_MS = 600_000;
/** To wait for a free connection, too. */
export const CONNECT_TIMEOUT_MS = 60_000;

/** Creates a migrated database without rows, for tests of stores. */
export async function createMigratedDatabase(maxConnections = 10): Promise<MigratedDatabase> {
  const { url, drop } = await createTestDatabase(SCHEMA);
  const database = openDatabase({
    url,
    maxConnections,
    statementDeadlineMs: STATEMENT_TIMEOUT_MS,
    answerDeadlineMs: STATEMENT_TIMEOUT_MS,
    connectDeadlineMs: CONNECT_TIMEOUT_MS,
  });
  return {
    url,
    database,
    withTransaction: createWithTransaction(database),
    async close() {
      await database.destroy();
      await drop();
    },
  };
}
