// Before the integration tests: one Postgres and one Valkey for the whole run, unless the caller
// brings their own by TEST_POSTGRES_URL and TEST_REDIS_URL.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MissingPartError, startPostgres, startValkey } from '../../packages/testkit/dist/index.js';

export default async function startServers() {
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-test-'));
  // Open, so that Postgres' own user (when we are root) can pass and its data stays in here.
  await chmod(folder, 0o755);
  // What stop-servers.mjs does, last one first.
  const closers = [() => rm(folder, { recursive: true, force: true })];
  globalThis.uswarmTestServers = closers;
  if (!process.env.TEST_POSTGRES_URL) {
    const postgres = await startPostgres({ directory: join(folder, 'postgres'), durable: false });
    process.env.TEST_POSTGRES_URL = postgres.url;
    closers.push(() => postgres.close());
  }
  if (!process.env.TEST_REDIS_URL) await startValkeyIfPossible(join(folder, 'valkey'), closers);
}

/** A machine without Valkey skips the tests that need it: see `describeWith` of the testkit. */
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
