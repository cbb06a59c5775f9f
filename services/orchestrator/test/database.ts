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

const FILLED_WITHIN_MS = 600_000;

/** A database with our tables and nothing in them, for tests of stores. */
export async function createMigratedDatabase(maxConnections = 10): Promise<MigratedDatabase> {
  const { url, drop } = await createTestDatabase();
  await migrate(url, silentLogger);
  // What fills it may take long on a busy machine.
  const database = openDatabase({
    url,
    maxConnections,
    statementDeadlineMs: FILLED_WITHIN_MS,
    answerDeadlineMs: FILLED_WITHIN_MS,
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
