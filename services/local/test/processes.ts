import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { identifyProcess, type ProcessIdentity } from '@uswarm/dev-servers';

/** The running child processes, identified by pid and start time. */
export function childrenOf(parent: number): ProcessIdentity[] {
  return processTable()
    .filter(([, ppid]) => ppid === parent)
    .map(([pid]) => identifyProcess(pid))
    .filter((identity) => identity !== undefined);
}

/** The running child processes, and theirs. */
export function descendantsOf(parent: number): ProcessIdentity[] {
  const children = childrenOf(parent);
  return [...children, ...children.flatMap(({ pid }) => descendantsOf(pid))];
}

/** All agent runtimes in local mode's log, including ones that started during shutdown. */
export function loggedRuntimes(directory: string): number[] {
  const log = readFileSync(path.join(directory, 'uswarm.log'), 'utf8');
  return [...log.matchAll(/"pid":(\d+),"port":\d+,"msg":"runtime process listening"/g)].map(([, pid]) => Number(pid));
}

export interface RuntimeProcess {
  pid: number;
  workspace_id: string;
}

/** Signals a runtime from the table of runtimes, if it runs: another process can have the id of one that has ended. */
export function signalRuntime({ pid, workspace_id }: RuntimeProcess, signal: NodeJS.Signals): void {
  try {
    const isRuntime = readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`USWARM_WORKSPACE_ID=${workspace_id}\0`);
    if (!isRuntime) return;
  } catch {
    // It has ended, or the system has no such file.
    if (existsSync('/proc/self/environ')) return;
  }
  signalIfAlive(pid, signal);
}

export function killIfAlive(pid: number): void {
  signalIfAlive(pid, 'SIGKILL');
}

export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}

/** Pairs of process and parent. */
function processTable(): [pid: number, ppid: number][] {
  if (!existsSync('/proc/self/stat')) {
    const { stdout } = spawnSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' });
    return stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => [Number(pid), parentOnLinux(pid)]);
}

function parentOnLinux(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain spaces and parentheses: fields count from the last one.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}
