import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { RuntimeProcess } from './runtime-processes.store.js';
import { watchStart } from './start-watch.js';

export interface SpawnOptions {
  program: string;
  env: Record<string, string>;
  /** A file descriptor, which is closed here. */
  log: number | undefined;
  /** It is killed after this many ms without progress. */
  patienceMs: number;
  /** True if it ends with this process until it is bound to a workspace. */
  inPool?: boolean;
}

export interface SpawnedRuntime {
  child: ChildProcess;
  pid: number;
  port: number;
}

const Listening = z.object({ event: z.literal('listening'), port: z.int().positive() });

/** Starts a detached process. @throws Error if it ends or is killed before it listens */
export async function spawnRuntime(options: SpawnOptions): Promise<SpawnedRuntime> {
  const child = spawnProgram(options);
  try {
    const port = await listeningPort(child, options.patienceMs);
    child.unref();
    child.channel?.unref();
    const { pid } = child;
    if (pid === undefined) throw new Error('the runtime has no process id');
    return { child, pid, port };
  } catch (error) {
    await kill(child);
    throw error;
  }
}

function spawnProgram({ program, env, log, inPool = false }: SpawnOptions): ChildProcess {
  const stderr = log ?? 'ignore';
  try {
    return spawn(process.execPath, ['--enable-source-maps', program], {
      detached: true,
      env,
      stdio: inPool ? ['ignore', 'pipe', stderr, 'ipc'] : ['ignore', 'pipe', stderr],
    });
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

export const hasExited = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Kills a process that no workspace has, and waits for its end. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || hasExited(child)) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
/** Waits for the line with the port. @throws if the runtime exits, makes no progress, or prints anything else first */
async function listeningPort(child: ChildProcess, patienceMs: number): Promise<number> {
  const { stdout } = child;
  if (stdout === null) throw new Error('the runtime has no standard output');
  const lines = createInterface({ input: stdout });
  let problem = 'exited during its start';
  const onStuck = (reason: string): void => {
    problem = `${reason} during its start and was killed`;
    child.kill('SIGKILL');
  };
  const endWatch = child.pid === undefined ? undefined : watchStart(child.pid, { patienceMs, onStuck });
  try {
    const line = await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve);
      child.once('error', reject);
      child.once('exit', (code, signal) => reject(new Error(`the runtime ${problem} (${signal ?? code})`)));
    });
    return Listening.parse(JSON.parse(line)).port;
  } finally {
    endWatch?.();
    lines.close();
    stdout.destroy();
  }
}

/** Process ids are reused: on Linux, this also checks that the process is the workspace's runtime. */
export function isRuntime({ pid, poolMember }: RuntimeProcess, workspaceId: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    const named = poolMember === null ? `USWARM_WORKSPACE_ID=${workspaceId}` : `USWARM_POOL_MEMBER=${poolMember}`;
    const state = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
    return state !== 'Z' && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`${named}\0`);
  } catch {
    return false;
  }
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already exited.
  }
}
