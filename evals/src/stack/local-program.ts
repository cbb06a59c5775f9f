import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@uswarm/dev-servers';
import { programFile } from '@uswarm/testkit/program-file';
import { z } from 'zod';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const AdminFile = z.object({ url: z.url(), key: z.string() });

/** The product, as `npm start` runs it. */
export interface LocalProgram {
  url: string;
  issuer: string;
  /** The internal API, for operators. */
  admin: { url: string; key: string };
  /** The data folder. */
  folder: string;
  stop(): Promise<void>;
}

/** The environment does not work, so that no task can be judged. */
export class HarnessError extends Error {
  override name = 'HarnessError';
}

/** Starts local mode as a separate process, with an empty data folder. @throws HarnessError */
export async function startLocalProgram(env: Record<string, string>): Promise<LocalProgram> {
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-evals-'));
  const directory = join(folder, 'data');
  const port = await freePort();
  const child = spawn(process.execPath, [programFile('services/local/dist/main.js')], {
    cwd: REPOSITORY,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      LOG_LEVEL: 'warn',
      ...env,
      USWARM_PORT: String(port),
      USWARM_DATA_DIR: directory,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  let output = '';
  const started = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => {
      output += piece;
      if (output.includes('Ctrl-C stops everything')) started.resolve();
    });
  }
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGINT');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const failed = ended.then(() => {
    throw new HarnessError(`local mode ended:\n${output}`);
  });
  try {
    await Promise.race([started.promise, failed]);
  } catch (error) {
    await stop();
    throw error;
  }
  failed.catch(() => undefined);
  const url = `http://127.0.0.1:${port}`;
  const admin = AdminFile.parse(JSON.parse(readFileSync(join(directory, 'admin.json'), 'utf8')));
  return { url, issuer: `${url}/dev/issuer`, admin, folder: directory, stop };
}
