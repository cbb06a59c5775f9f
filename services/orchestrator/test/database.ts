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

/** The migrated schema, with the serving role's rights. */
export const SCHEMA: DatabaseTemplate = {
  key: schemaKey(),
  prepare: (url) => migrate(url, silentLogger, SERVING_ROLE),
};

/** If several runs share a Postgres, it has one template for each version of these files. */
function schemaKey(): string {
  const service = path.join(import.meta.dirname, '..');
  const migrations = readdirSync(path.join(service, 'migrations')).toSorted();
  const files = [...migrations.map((file) => `migrations/${file}`), 'src/platform/database/serving-role.ts'];
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(path.join(service, file)));
  return hash.digest('hex').slice(0, 12);
}

/** Long enough to insert bulk data on a busy machine. */
const STATEMENT_TIMEOUT_MS = 600_000;
/** Includes the wait for a free connection. */
export const CONNECT_TIMEOUT_MS = 60_000;

/** For store tests: migrated, without rows. */
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
