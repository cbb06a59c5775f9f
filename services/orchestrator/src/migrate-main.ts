import { ConfigError, createLogger, loadConfig } from '@uswarm/service-kit';
import { MigrationConfig } from './config.js';
import { migrate } from './platform/database/migrate.js';
import { DatabaseUnavailable, waitForDatabase } from './platform/database/wait-for-database.js';

// Migrates the schema and exits; an init container runs it. Concurrent runs are safe. Exit codes: 0 up to date, 1 a
// migration failed, 2 not configured, 3 no database.
const logger = createLogger({ service: 'orchestrator-migrations', level: process.env['LOG_LEVEL'] ?? 'info' });

// PID 1 in a container ignores signals without a handler. An interrupted migration is rolled back.
for (const [signal, code] of [
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const) {
  process.once(signal, () => {
    logger.warn({ signal }, 'stopped before the schema was up to date');
    process.exit(code);
  });
}

function exitCode(error: unknown): number {
  if (error instanceof ConfigError) return 2;
  return error instanceof DatabaseUnavailable ? 3 : 1;
}

try {
  const config = loadConfig(MigrationConfig, process.env);
  const url = config.MIGRATION_DATABASE_URL ?? config.DATABASE_URL;
  await waitForDatabase({ url, deadlineMs: config.DATABASE_WAIT_S * 1_000, logger });
  await migrate(url, logger, config.DATABASE_SERVING_ROLE);
  process.exit(0);
} catch (error) {
  logger.fatal({ err: error }, error instanceof Error ? error.message : 'the migration failed');
  process.exit(exitCode(error));
}
