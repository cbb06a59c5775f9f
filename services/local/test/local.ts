import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@uswarm/dev-servers';
import { fillDataFolder } from '@uswarm/testkit/local-data';
import { type Program, runProgram } from './program.js';

export interface RunningProgram {
  program: Program;
  url: string;
  issuer: string;
  directory: string;
  /** Stops it with SIGINT and removes the data. @returns the exit code */
  stop(): Promise<number | null>;
}

/** Path for a new data folder, inside a temporary folder that the test removes. */
export async function newDataFolder(): Promise<string> {
  const parent = await mkdtemp(path.join(tmpdir(), 'uswarm-local-'));
  // As root, the Postgres user must enter it, as it can enter a usual checkout.
  await chmod(parent, 0o755);
  return path.join(parent, 'data');
}

/** Starts local mode as a separate process, like `npm start`, but without SearXNG unless the arguments or the environment name one. */
export function startLocalMode(env: Record<string, string>, args: string[] = []): Program {
  const search = args.includes('--search') || env['SVC_SEARCH_ENDPOINT'] !== undefined ? [] : ['--no-search'];
  return runProgram('services/local/dist/main.js', [...args, ...search], {
    LOG_LEVEL: 'debug',
    USWARM_DEMO_DELAY_MS: '1',
    ...env,
  });
}

/** Starts local mode, with a prepared data folder unless `env` has one, and waits until it runs. */
export async function runLocalMode(env: Record<string, string> = {}, args: string[] = []): Promise<RunningProgram> {
  const port = env['USWARM_PORT'] ?? String(await freePort());
  const directory = env['USWARM_DATA_DIR'] ?? (await newDataFolder());
  if (env['USWARM_DATA_DIR'] === undefined) await fillDataFolder(directory);
  const settings = {
    USWARM_PORT: port,
    USWARM_DATA_DIR: directory,
    // Titles cause model calls and events that most tests do not expect.
    SUMMARY_WORKERS: '0',
    // Saves the start of a process in each test.
    USWARM_WARM_RUNTIMES: '0',
    ...env,
  };
  const program = startLocalMode(settings, args);
  await program.printed(/Ctrl-C stops everything/);
  const url = `http://127.0.0.1:${port}`;
  return {
    program,
    url,
    directory,
    issuer: `${url}/dev/issuer`,
    async stop() {
      const code = await program.stop('SIGINT');
      await rm(path.dirname(directory), { recursive: true, force: true });
      return code;
    },
  };
}
