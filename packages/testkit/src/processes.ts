import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process as it can be told apart from a later one with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** When it started, in the system's own notation; only good for comparing. */
  started: string;
}

const hasProc = existsSync('/proc/self/stat');

function ps(pid: number, column: string): string {
  const { stdout } = spawnSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' });
  return (stdout ?? '').trim();
}

function fileOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** `undefined` when no such process runs; one that is dead and only waits for its parent is not running. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (hasProc) {
    // The name in brackets may hold spaces and brackets itself: fields count from behind the last one.
    const stat = fileOrEmpty(`/proc/${pid}/stat`);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19]];
    return started === undefined || state === 'Z' || state === 'X' ? undefined : { pid, started };
  }
  const started = ps(pid, 'lstart');
  return started === '' || ps(pid, 'state').startsWith('Z') ? undefined : { pid, started };
}

/** Whether exactly this process, and not another with its number, still runs. */
export function stillRuns({ pid, started }: ProcessIdentity): boolean {
  return identifyProcess(pid)?.started === started;
}

export function ownIdentity(): ProcessIdentity {
  return identifyProcess(process.pid) ?? { pid: process.pid, started: '' };
}

/** The command line with its words parted by blanks; empty when it cannot be known. */
export function commandLine(pid: number): string {
  return hasProc ? fileOrEmpty(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() : ps(pid, 'command');
}

/** The name of the program's file and the folder it works in, as far as they can be known. */
export function programOf(pid: number): { name: string; cwd: string | undefined } {
  if (!hasProc) return { name: basename(ps(pid, 'comm')), cwd: undefined };
  try {
    return { name: fileOrEmpty(`/proc/${pid}/comm`).trim(), cwd: readlinkSync(`/proc/${pid}/cwd`) };
  } catch {
    return { name: '', cwd: undefined };
  }
}

/** Sends `signal` unless the process is gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** @returns whether the process was gone within `timeoutMs`. */
export async function waitForExit(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (stillRuns(identity)) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}
