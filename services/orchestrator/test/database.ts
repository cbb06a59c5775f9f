import { silentLogger } from '@uswarm/service-kit';
import { createTestDatabase } from '@uswarm/testkit';
import { type Database, openDatabase, type WithTransaction } from '../src/database/database.js';
import { createWithTransaction } from '../src/database/transaction.js';
import { migrate } from '../src/database/migrate.js';

export interface MigratedDatabase {
  url: string;
  database: Database;
  withTransaction: WithTransaction;
  close(): Promise<void>;
}

/** Long enough for the insertion of bulk data on a busy machine. */
const STATEMENT_TIMEOUT_MS = 600_000;

/** Creates a migrated database without rows, for tests of stores. */
export async function createMigratedDatabase(maxConnections = 10): Promise<MigratedDatabase> {
  const { url, drop } = await createTestDatabase();
  await migrate(url, silentLogger);
  const database = openDatabase({
    url,
    maxConnections,
    statementDeadlineMs: STATEMENT_TIMEOUT_MS,
    answerDeadlineMs: STATEMENT_TIMEOUT_MS,
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
