import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@uswarm/dev-servers';
import { fillDataFolder } from '@uswarm/testkit/local-data';
import { queryLocalDatabase } from '@uswarm/testkit/local-database';
import { programFile } from '@uswarm/testkit/program-file';

export interface LocalMode {
  url: string;
  /** The user's token. The page derives the e-mail address from the name. */
  token(name: string): Promise<string>;
  /** Runs a statement in its database. */
  query<Row extends Record<string, unknown>>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Acts as an operator. */
  publishTerms(version: string, text: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts local mode as a process, like `npm start`, with a prepared data folder. */
export async function startLocalMode(environment: Record<string, string>): Promise<LocalMode> {
  const parent = await mkdtemp(join(tmpdir(), 'uswarm-page-'));
  // If the test runs as root, the Postgres user must enter the folder.
  await chmod(parent, 0o755);
  await fillDataFolder(join(parent, 'data'));
  const port = environment['USWARM_PORT'] ?? String(await freePort());
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env;
  const search = environment['SVC_SEARCH_ENDPOINT'] === undefined ? ['--no-search'] : [];
  const child = spawn(process.execPath, [programFile('services/local/dist/main.js'), ...search], {
    env: {
      PATH,
      HOME,
      NODE_COMPILE_CACHE,
      USWARM_PORT: port,
      USWARM_DATA_DIR: join(parent, 'data'),
      USWARM_DEMO_DELAY_MS: '1',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const failed = ended.then(() => {
    throw new Error(`local mode ended:\n${printed}`);
  });
  failed.catch(() => undefined);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (printed += text));
  while (!printed.includes('Ctrl-C stops everything')) await Promise.race([once(child.stdout, 'data'), failed]);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    async token(name) {
      const body = JSON.stringify({ email: `${name.toLowerCase()}@example.com`, name });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}/dev/issuer/dev/token`, { method: 'POST', headers, body });
      return ((await response.json()) as { id_token: string }).id_token;
    },
    query: (sql, values) => queryLocalDatabase(join(parent, 'data'), sql, values),
    async publishTerms(version, text) {
      const file = join(parent, 'terms.md');
      await writeFile(file, text);
      const program = programFile('packages/cli/dist/uswarmctl.js');
      const env = { PATH, HOME, USWARM_DATA_DIR: join(parent, 'data') };
      await promisify(execFile)(process.execPath, [program, 'legal', 'publish', 'terms_of_service', version, file], {
        env,
      });
    },
    async stop() {
      child.kill('SIGINT');
      await ended;
      await rm(parent, { recursive: true, force: true });
    },
  };
}
