import { fileURLToPath } from 'node:url';
import type { Logger } from '@uswarm/service-kit';
import { runner } from 'node-pg-migrate';

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));

/**
 * Brings the schema up to date. Safe with several replicas starting at once: the runner holds an
 * advisory lock that the others wait for. Migrations expand first and contract in a later release.
 */
export async function migrate(databaseUrl: string, logger: Logger): Promise<void> {
  const log = logger.child({ part: 'migrations' });
  await runner({
    databaseUrl,
    dir: `${MIGRATIONS}/*.sql`,
    useGlob: true,
    direction: 'up',
    migrationsTable: 'schema_migrations',
    checkOrder: true,
    advisoryLockMode: 'wait',
    logger: {
      debug: (text) => log.debug(text),
      info: (text) => log.debug(text),
      warn: (text) => log.warn(text),
      error: (text) => log.error(text),
    },
  });
}
