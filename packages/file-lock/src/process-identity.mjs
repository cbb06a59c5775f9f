import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const hasProc = existsSync('/proc/self/stat');

export function identifyProcess(pid) {
  if (hasProc) {
    const stat = statOf(pid);
    // The program name in brackets can contain spaces and brackets, so fields are counted from its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19]];
    return started === undefined || state === 'Z' || state === 'X' ? undefined : { pid, started };
  }
  const started = ps(pid, 'lstart');
  return started === '' || ps(pid, 'state').startsWith('Z') ? undefined : { pid, started };
}

export function stillRuns({ pid, started }) {
  return identifyProcess(pid)?.started === started;
}

export function ownIdentity() {
  return identifyProcess(process.pid) ?? { pid: process.pid, started: '' };
}

function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}

export function processIsAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

export function ps(pid, column) {
  const { stdout } = spawnSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' });
  return (stdout ?? '').trim();
}
