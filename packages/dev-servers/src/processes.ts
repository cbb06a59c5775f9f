import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ProcessIdentity, ps, stillRuns } from '@uswarm/file-lock/process-identity';

export { identifyProcess, ownIdentity, type ProcessIdentity, stillRuns } from '@uswarm/file-lock/process-identity';

const hasProc = existsSync('/proc/self/stat');

function fileOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The command line, separated by spaces; empty if it cannot be read. */
export function commandLine(pid: number): string {
  return hasProc ? fileOrEmpty(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() : ps(pid, 'command');
}

/** Executable name and working directory, if they can be read. */
export function programOf(pid: number): { name: string; cwd: string | undefined } {
  if (!hasProc) return { name: basename(ps(pid, 'comm')), cwd: undefined };
  try {
    return { name: fileOrEmpty(`/proc/${pid}/comm`).trim(), cwd: readlinkSync(`/proc/${pid}/cwd`) };
  } catch {
    return { name: '', cwd: undefined };
  }
}

/** Sends `signal`; ignores a process that no longer exists. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** @returns whether the process exited within `timeoutMs` */
export async function waitForExit(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (stillRuns(identity)) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}
