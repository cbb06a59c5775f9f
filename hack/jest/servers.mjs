// Starts one Postgres and one Valkey for all integration tests, unless TEST_POSTGRES_URL and TEST_REDIS_URL select existing
// ones, and bundles the programs that they start.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { MissingPartError, startPostgres, startValkey } from '../../packages/dev-servers/dist/index.js';
import { bundleTestPrograms } from './programs.mjs';

export default async function startServers() {
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-test-'));
  // World-accessible, because Postgres runs as another user if we are root.
  await chmod(folder, 0o755);
  // jest does not call stop-servers.mjs if this function fails.
  await using servers = new AsyncDisposableStack();
  servers.defer(() => rm(folder, { recursive: true, force: true }));
  // The first test that needs it creates it: see `fillDataFolder` of testkit.
  process.env.USWARM_TEST_LOCAL_DATA = join(folder, 'local-data');
  const bundled = bundlePrograms(join(folder, 'programs'));
  // Awaited below.
  bundled.catch(() => undefined);
  if (!process.env.TEST_POSTGRES_URL) {
    const postgres = await startPostgres({ directory: join(folder, 'postgres'), durable: false });
    process.env.TEST_POSTGRES_URL = postgres.url;
    servers.defer(() => postgres.close());
  }
  if (!process.env.TEST_REDIS_URL) await startValkeyIfPossible(join(folder, 'valkey'), servers);
  await bundled;
  const running = servers.move();
  globalThis.uswarmTestServers = running;
  // The servers have their own sessions, so that a signal would leave them behind. A terminal and a parent process can each send one.
  let stopping;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      stopping ??= running.disposeAsync().finally(() => process.exit(128 + constants.signals[signal]));
    });
  }
}

/** Not for a run that selects the files of another folder. */
async function bundlePrograms(folder) {
  if (process.env.USWARM_TEST_PROGRAMS) return;
  await bundleTestPrograms(folder);
  process.env.USWARM_TEST_PROGRAMS = folder;
}

/** Without Valkey, tests that need it are skipped: see `describeWithPart` of dev-servers. */
async function startValkeyIfPossible(directory, servers) {
  try {
    const valkey = await startValkey({ directory });
    process.env.TEST_REDIS_URL = valkey.url;
    servers.defer(() => valkey.close());
  } catch (error) {
    if (!(error instanceof MissingPartError)) throw error;
    process.env.USWARM_MISSING_VALKEY = JSON.stringify(error.missing);
  }
}
