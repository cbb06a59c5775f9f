import { silentLogger } from '@uswarm/service-kit';
import { createTestDatabase } from '@uswarm/testkit';
import { type Database, openDatabase, type Transact } from '../src/database/database.js';
import { migrate } from '../src/database/migrate.js';

export interface MigratedDatabase {
  url: string;
  database: Database;
  transaction: Transact;
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
    transaction: (run) => database.transaction().execute(run),
    async close() {
      await database.destroy();
      await drop();
    },
  };
}
