import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@uswarm/dev-servers';
import { programFile } from './program-file.js';

const run = promisify(execFile);

/**
 * Fills a new data folder as a first start of local mode leaves it. The first call in a test run starts local mode for it, and
 * later calls copy: a start that creates no database and migrates nothing needs half the processor time. Outside a test run,
 * the start creates the data.
 *
 * @param folder does not exist yet; a user other than root must be able to enter its parent
 */
export async function fillDataFolder(folder: string): Promise<void> {
  const prepared = process.env['USWARM_TEST_LOCAL_DATA'];
  if (prepared === undefined) return;
  if (!existsSync(prepared)) await prepare(prepared);
  // As root in a folder that Postgres may not enter, the data is elsewhere.
  if (!existsSync(path.join(prepared, 'postgres/data'))) return;
  // Keeps the owner: as root, Postgres has another one. Not `fs.cp`, which does not.
  await run('cp', ['-a', prepared, folder]);
  const description = path.join(folder, 'postgres/cluster.json');
  const cluster = JSON.parse(await readFile(description, 'utf8')) as object;
  const moved = { ...cluster, data_directory: path.join(folder, 'postgres/data') };
  await writeFile(description, `${JSON.stringify(moved)}\n`);
}

async function prepare(prepared: string): Promise<void> {
  const draft = await mkdtemp(`${prepared}.`);
  await chmod(draft, 0o755);
  const data = path.join(draft, 'data');
  const child = spawn(process.execPath, [programFile('services/local/dist/main.js'), '--no-search'], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      USWARM_PORT: String(await freePort()),
      USWARM_DATA_DIR: data,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    const ran = printed.includes(RUNNING);
    printed += piece;
    if (!ran && printed.includes(RUNNING)) child.kill('SIGINT');
  });
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`local mode ended with ${code}:\n${printed}`);
  await rm(path.join(data, 'uswarm.log'));
  // Another worker can have been faster.
  await rename(data, prepared).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
  await rm(draft, { recursive: true, force: true });
}

const RUNNING = 'Ctrl-C stops everything';
