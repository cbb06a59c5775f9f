import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { freePort } from '../free-port.js';
import { LocalError } from '../local-error.js';

const START_DEADLINE_MS = 60_000;
const POLL_MS = 100;
const STOP_GRACE_MS = 3_000;
const START_ATTEMPTS = 3;

export interface PythonServerLaunch {
  /** The name for messages. */
  title: string;
  python: string;
  /** Arguments for the interpreter. The script ends when its standard input closes. */
  args: readonly string[];
  cwd: string;
  /** Variables beside the few that are inherited. */
  environment?: Record<string, string>;
  /** The output is appended to this file. */
  logFile: string;
  /** Returns status 200 when the server is ready. */
  healthUrl: string;
  /** Milliseconds until the server must be ready. */
  startMs?: number | undefined;
  /** Ends the start. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts a server that is a Python script, and waits until it is ready. It ends with this process, even if this process
 * is killed. @throws LocalError if it does not start; the signal's reason
 */
export async function startPythonServer(options: PythonServerLaunch): Promise<{ close(): Promise<void> }> {
  options.signal?.throwIfAborted();
  const child = await launch(options);
  const close = (): Promise<void> => stop(child);
  try {
    await untilHealthy(child, options);
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}

/** Runs `start` with a free port, and with another one if a program took the port before the server. */
export async function withFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      const raced = error instanceof LocalError && error.message.includes('in use');
      if (!raced || attempt === START_ATTEMPTS) throw error;
    }
  }
}

async function launch({ python, args, cwd, environment, logFile }: PythonServerLaunch): Promise<ChildProcess> {
  const log = await open(logFile, 'a');
  try {
    return spawn(python, [...args], { cwd, env: cleanEnvironment(environment), stdio: ['pipe', log.fd, log.fd] });
  } finally {
    await log.close();
  }
}

/** Excludes machine variables that configure servers: a `SEARXNG_PORT` would change the port. */
function cleanEnvironment(own: Record<string, string> = {}): Record<string, string> {
  const kept = ['PATH', 'HOME', 'LANG', 'SYSTEMROOT', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];
  const inherited = kept.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(inherited), ...own };
}

async function untilHealthy(child: ChildProcess, options: PythonServerLaunch): Promise<void> {
  const { title, healthUrl, logFile, startMs = START_DEADLINE_MS, signal } = options;
  const deadline = performance.now() + startMs;
  let launchError: Error | undefined;
  child.once('error', (error) => {
    launchError = error;
  });
  while (performance.now() < deadline) {
    signal?.throwIfAborted();
    if (launchError !== undefined || child.exitCode !== null || child.signalCode !== null) {
      const lastLines = (await readFile(logFile, 'utf8')).trim().split('\n').slice(-2).join(' ');
      throw new LocalError(`${title} ended during its start: ${launchError?.message ?? lastLines} (see ${logFile})`);
    }
    if (await isHealthy(healthUrl)) return;
    await sleep(POLL_MS);
  }
  throw new LocalError(`${title} was not healthy within ${startMs / 1_000} s (see ${logFile}).`);
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(2_000) });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  await exited;
  clearTimeout(force);
}
