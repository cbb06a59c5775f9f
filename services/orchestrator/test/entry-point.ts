import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { programFile } from '@uswarm/testkit/program-file';
import { z } from 'zod';

/** Runs a built entry point as a child process. */
export interface EntryPoint {
  lines: string[];
  /** The public port's base URL. Rejects if the process exits before it listens. */
  listening: Promise<string>;
  /** The operations port's base URL, likewise. */
  operations: Promise<string>;
  exitCode: Promise<number | null>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const Listens = z.object({ msg: z.literal('listening'), port: z.int(), opsPort: z.int() });

export function startEntryPoint(
  name: 'main' | 'main.nonproduction' | 'migrate-main',
  env: Record<string, string>,
  dist = path.dirname(programFile('services/orchestrator/dist/main.js')),
): EntryPoint {
  const program = path.join(dist, `${name}.js`);
  // The test's own environment is not passed on.
  const child = spawn(process.execPath, [program], {
    env: {
      REALTIME_REDIS_URL: process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:1',
      OPS_PORT: '0',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      ...env,
      HTTP_HOST: '127.0.0.1',
      INTERNAL_HOST: '127.0.0.1',
      HTTP_PORT: '0',
      INTERNAL_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  // `close` instead of `exit`: the last lines can arrive after `exit`.
  const exitCode = new Promise<number | null>((resolve) => void child.once('close', resolve));
  createInterface({ input: child.stderr }).on('line', (line) => void lines.push(line));
  const ports = new Promise<z.output<typeof Listens>>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      const listens = Listens.safeParse(JSON.parse(line));
      if (listens.success) resolve(listens.data);
    });
    void exitCode.then((code) => reject(new Error(`the process exited with ${code}:\n${lines.join('\n')}`)));
  });
  const listening = ports.then(({ port }) => `http://127.0.0.1:${port}`);
  const operations = ports.then(({ opsPort }) => `http://127.0.0.1:${opsPort}`);
  // Avoids unhandled rejections in tests that only wait for the exit code.
  for (const url of [listening, operations]) url.catch(() => undefined);
  return {
    lines,
    listening,
    operations,
    exitCode,
    async kill() {
      child.kill('SIGKILL');
      await exitCode;
    },
    async stop() {
      child.kill('SIGTERM');
      await exitCode;
    },
  };
}
