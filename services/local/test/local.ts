import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@uswarm/testkit';
import { type Program, runProgram } from './program.js';

export interface RunningProgram {
  program: Program;
  url: string;
  issuer: string;
  directory: string;
  /** Stops it as Ctrl-C does, and removes the data. @returns the exit code */
  stop(): Promise<number | null>;
}

/** A data folder that does not exist yet, in a folder of its own that is to be removed. */
export async function newDataFolder(): Promise<string> {
  return path.join(await mkdtemp(path.join(tmpdir(), 'uswarm-local-')), 'data');
}

/** Starts local mode as a process of its own, as `npm start` does. */
export function startLocalMode(env: Record<string, string>, args: string[] = []): Program {
  return runProgram('services/local/dist/main.js', args, { LOG_LEVEL: 'debug', USWARM_DEMO_DELAY_MS: '1', ...env });
}

/** Starts local mode, with data of its own unless `env` names a folder, and waits until it runs. */
export async function runLocalMode(env: Record<string, string> = {}, args: string[] = []): Promise<RunningProgram> {
  const port = env['USWARM_PORT'] ?? String(await freePort());
  const directory = env['USWARM_DATA_DIR'] ?? (await newDataFolder());
  const program = startLocalMode({ USWARM_PORT: port, USWARM_DATA_DIR: directory, ...env }, args);
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
