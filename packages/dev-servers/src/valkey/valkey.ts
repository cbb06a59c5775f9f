import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { freePort } from '../free-port.js';
import { LocalError, MissingPartError } from '../local-error.js';
import { valkeyProgram } from './valkey-binary.js';

const START_DEADLINE_MS = 20_000;

export interface ValkeyOptions {
  /** The folder of data and log; created if it does not exist. */
  directory: string;
  /** Default: a free port, which `restart()` keeps. */
  port?: number;
  /** Further settings, by name. */
  settings?: Readonly<Record<string, string>>;
  /** A configuration file that the server rewrites; it makes the server a sentinel. */
  sentinelFile?: string;
}

export interface RunningValkey {
  url: string;
  port: number;
  readonly pid: number;
  /** Kills the server with SIGKILL. */
  kill(): Promise<void>;
  /** Stops the server if it runs, and starts it again with the same port and data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a real Valkey (or Redis) on loopback. @throws LocalError */
export async function startValkey(options: ValkeyOptions): Promise<RunningValkey> {
  const found = valkeyProgram();
  if ('missing' in found) throw new MissingPartError(found.missing);
  const directory = resolve(options.directory);
  await mkdir(directory, { recursive: true });
  const port = options.port ?? (await freePort());
  const start = (): Promise<ChildProcess> => launch(found.program, { ...options, directory, port });
  let child = await start();
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    const exited = exitOf(child);
    child.kill(signal);
    await exited;
  };
  const lastResort = (): void => void child.kill('SIGTERM');
  process.once('exit', lastResort);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid ?? 0;
    },
    kill: () => stop('SIGKILL'),
    restart: async () => {
      await stop('SIGTERM');
      child = await start();
    },
    close: async () => {
      process.off('exit', lastResort);
      await stop('SIGTERM');
    },
  };
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function exitOf(child: ChildProcess): Promise<void> {
  return hasExited(child) ? Promise.resolve() : new Promise((resolveExit) => child.once('exit', () => resolveExit()));
}

/** Writes each command to the append-only file before it responds, so that a kill loses no data. */
const DURABLE = { save: '', appendonly: 'yes', appendfsync: 'always' };

async function launch(program: string, options: ValkeyOptions & { port: number }): Promise<ChildProcess> {
  const { directory, port, sentinelFile } = options;
  const logFile = join(directory, 'valkey.log');
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: directory,
    logfile: logFile,
    ...(sentinelFile === undefined && DURABLE),
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const args = sentinelFile === undefined ? flags : [sentinelFile, '--sentinel', ...flags];
  const child = spawn(program, args, { cwd: directory, detached: true, stdio: 'ignore' });
  await new Promise<void>((spawned, failed) => {
    child.once('spawn', spawned);
    child.once('error', failed);
  });
  const deadline = performance.now() + START_DEADLINE_MS;
  while (!(await answers(port, child.pid))) {
    if (hasExited(child) || performance.now() > deadline) {
      child.kill('SIGKILL');
      const log = await readFile(logFile, 'utf8').catch(() => '');
      throw new LocalError(`Valkey could not start: ${log.trim().split('\n').at(-1) ?? 'no reason given'}`);
    }
    await sleep(25);
  }
  return child;
}

/** Checks the process id too, because another server may use the port. */
async function answers(port: number, pid: number | undefined): Promise<boolean> {
  const client = createClient({
    url: `redis://127.0.0.1:${port}`,
    socket: { reconnectStrategy: false, connectTimeout: 1_000 },
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.info('server')).includes(`process_id:${pid}\r\n`);
  } catch {
    return false;
  } finally {
    client.destroy();
  }
}
