import { createTestDatabase, orchestratorSchema } from '@uswarm/testkit';
import { type Database, openDatabase, type WithTransaction } from '../src/platform/database/database.js';
import { createWithTransaction } from '../src/platform/database/transaction.js';
import { migrate } from '../src/platform/database/migrate.js';

export interface MigratedDatabase {
  url: string;
  database: Database;
  withTransaction: WithTransaction;
  close(): Promise<void>;
}

export const SCHEMA = orchestratorSchema(migrate);

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
