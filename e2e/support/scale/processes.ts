import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';

/** A child process with measurable memory. */
export interface Running {
  memory(): Memory;
  stop(): Promise<void>;
}

/** Bytes of resident memory; undefined on systems other than Linux. */
export interface Memory {
  now: number | undefined;
  /** Peak memory. */
  peak: number | undefined;
}

/** A process that serves `/readyz` and `/metrics`. */
export interface RunningService extends Running {
  /** The text of `/metrics`. */
  scrape(): Promise<string>;
}

interface Program {
  command: string;
  args: readonly string[];
  env: Record<string, string | undefined>;
  /** Receives its output. */
  logFile: string;
}

/** Heap limit in MiB that V8 chooses in a container of 512 MiB; on a large machine it would collect less garbage. */
const HEAP = 256;
const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 20_000;

export function startProcess({ command, args, env, logFile }: Program): Running & { child: ChildProcess } {
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, { env, stdio: ['ignore', log, log] });
  closeSync(log);
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  // The caller that waits for readiness reports it.
  child.on('error', () => undefined);
  return { child, memory: () => memoryOf(child.pid ?? 0), stop: () => stop(child) };
}

/** Starts a Node.js service and waits until it is ready. @throws Error with its last output */
export async function startService(
  script: string,
  env: Record<string, string | undefined>,
  logFile: string,
): Promise<RunningService> {
  const port = await freePort();
  const own = { PATH: process.env['PATH'], NODE_ENV: 'production', ...env, OPS_PORT: `${port}` };
  const running = startProcess({
    command: process.execPath,
    args: [`--max-heap-size=${HEAP}`, script],
    env: own,
    logFile,
  });
  const url = `http://127.0.0.1:${port}`;
  const hasEnded = (): boolean => running.child.exitCode !== null || running.child.signalCode !== null;
  const ready = async (): Promise<boolean> => hasEnded() || (await fetch(`${url}/readyz`)).ok;
  try {
    await eventually(ready, { description: `${script} is ready`, timeoutMs: START_DEADLINE_MS });
  } catch (error) {
    await running.stop();
    throw error;
  }
  if (hasEnded()) throw new Error(`${script} ended: ${readFileSync(logFile, 'utf8').slice(-2_000)}`);
  return { ...running, scrape: async () => (await fetch(`${url}/metrics`)).text() };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const force = sleep(STOP_DEADLINE_MS, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
  await Promise.race([ended, force]);
  await ended;
}

function memoryOf(pid: number): Memory {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const bytes = (name: string): number | undefined => {
      const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
      return kibibytes === undefined ? undefined : Number(kibibytes) * 1_024;
    };
    return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
  } catch {
    return { now: undefined, peak: undefined };
  }
}
