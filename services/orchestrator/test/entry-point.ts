import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** A program of the built orchestrator, run as a process. */
export interface EntryPoint {
  /** Every line that it logged, so far. */
  lines: string[];
  /** The base URL of the public port. @throws Error where the process ends before it listens */
  listening: Promise<string>;
  /** The base URL of the operations port, likewise. */
  operations: Promise<string>;
  exitCode: Promise<number | null>;
  stop(): Promise<void>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
}

const Listens = z.object({ msg: z.literal('listening'), port: z.int(), opsPort: z.int() });

export function startEntryPoint(
  name: 'main' | 'main.nonproduction' | 'migrate-main',
  env: Record<string, string>,
  dist = fileURLToPath(new URL('../dist', import.meta.url)),
): EntryPoint {
  const program = path.join(dist, `${name}.js`);
  // Nothing of the environment of the tests: what the process gets is what the test says.
  const child = spawn(process.execPath, [program], {
    env: {
      REALTIME_REDIS_URL: process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:1',
      OPS_PORT: '0',
      ...env,
      HTTP_HOST: '127.0.0.1',
      INTERNAL_HOST: '127.0.0.1',
      HTTP_PORT: '0',
      INTERNAL_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  // Not `exit`: the last lines may arrive after it.
  const exitCode = new Promise<number | null>((resolve) => void child.once('close', resolve));
  createInterface({ input: child.stderr }).on('line', (line) => void lines.push(line));
  const ports = new Promise<z.output<typeof Listens>>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      const listens = Listens.safeParse(JSON.parse(line));
      if (listens.success) resolve(listens.data);
    });
    void exitCode.then((code) => reject(new Error(`it ended with ${code}:\n${lines.join('\n')}`)));
  });
  const listening = ports.then(({ port }) => `http://127.0.0.1:${port}`);
  const operations = ports.then(({ opsPort }) => `http://127.0.0.1:${opsPort}`);
  // A test that only waits for the end does not look at these.
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
