// Starts one Postgres and one Valkey for all integration tests, unless TEST_POSTGRES_URL and TEST_REDIS_URL select existing
// ones.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MissingPartError, startPostgres, startValkey } from '../../packages/testkit/dist/index.js';

export default async function startServers() {
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-test-'));
  // World-accessible, because Postgres runs as another user if we are root.
  await chmod(folder, 0o755);
  // stop-servers.mjs calls these in reverse order.
  const closers = [() => rm(folder, { recursive: true, force: true })];
  globalThis.uswarmTestServers = closers;
  if (!process.env.TEST_POSTGRES_URL) {
    const postgres = await startPostgres({ directory: join(folder, 'postgres'), durable: false });
    process.env.TEST_POSTGRES_URL = postgres.url;
    closers.push(() => postgres.close());
  }
  if (!process.env.TEST_REDIS_URL) await startValkeyIfPossible(join(folder, 'valkey'), closers);
}

/** Without Valkey, tests that need it are skipped: see `describeWith` of testkit. */
async function startValkeyIfPossible(directory, closers) {
  try {
    const valkey = await startValkey({ directory });
    process.env.TEST_REDIS_URL = valkey.url;
    closers.push(() => valkey.close());
  } catch (error) {
    if (!(error instanceof MissingPartError)) throw error;
    process.env.USWARM_MISSING_VALKEY = JSON.stringify(error.missing);
  }
}
