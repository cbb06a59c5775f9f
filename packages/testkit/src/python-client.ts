import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { installPythonProgram } from '@uswarm/dev-servers';

/** The pinned requirements and the client; the path is the same from `src` and `dist`. */
const assets = join(import.meta.dirname, '..', 'python-socketio');

const PYTHON_SOCKETIO = {
  title: 'python-socketio',
  name: 'python-socketio',
  size: '5 MB',
  requirements: [join(assets, 'requirements.txt')],
};

export interface PythonClientOptions {
  /** Installation folder. */
  directory: string;
  url: string;
  auth: Record<string, string>;
  /** Receives each event; `connect`, `disconnect` and `refused` are about the connection. */
  onEvent: (event: string, payload: unknown) => void;
}

/** A socket.io client of another language with its default options. */
export interface PythonClient {
  emit(event: string, payload: object): void;
  close(): Promise<void>;
}

/**
 * Installs python-socketio if needed. @returns the interpreter, and the package folder. @throws LocalError if that
 * fails
 */
export const installPythonSocketio = (directory: string): Promise<{ python: string; packages: string }> =>
  installPythonProgram(PYTHON_SOCKETIO, { directory });

/** Starts the socket.io client of Python in the namespace `/v1`; installs it first if needed. @throws LocalError if that fails */
export async function startPythonClient({ directory, url, auth, onEvent }: PythonClientOptions): Promise<PythonClient> {
  const { python, packages } = await installPythonSocketio(directory);
  const args = ['-I', join(assets, 'client.py'), packages, url, JSON.stringify(auth)];
  const child = spawn(python, args, { env: { PATH: process.env['PATH'] }, stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  child.stdin.on('error', () => undefined);
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { event, payload } = JSON.parse(line) as { event: string; payload: unknown };
    onEvent(event, payload);
  });
  return {
    emit: (event, payload) => void child.stdin.write(`${JSON.stringify({ event, payload })}\n`),
    async close() {
      child.stdin.end();
      const force = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await exited;
      clearTimeout(force);
    },
  };
}
