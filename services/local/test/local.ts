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

/** Local mode as a process of its own, as `npm start` runs it, with data of its own. */
export async function runLocalMode(env: Record<string, string> = {}, args: string[] = []): Promise<RunningProgram> {
  const port = String(await freePort());
  const directory = path.join(await mkdtemp(path.join(tmpdir(), 'uswarm-local-')), 'data');
  const program = runProgram('services/local/dist/main.js', args, {
    USWARM_PORT: port,
    USWARM_DATA_DIR: directory,
    LOG_LEVEL: 'debug',
    USWARM_DEMO_DELAY_MS: '1',
    ...env,
  });
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
