import { readFileSync } from 'node:fs';

const MS_PER_TICK = 10;

export interface Progress {
  processorMs: number;
  /** System calls that read or wrote. */
  calls: number;
  /** Ready to run, or waiting for a disk: it continues as soon as the machine lets it. */
  isHeldUp: boolean;
}

/** @returns undefined without `/proc`, or if the process has ended */
export function progressOf(pid: number): Progress | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain spaces and parentheses: fields count from the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, user, system] = [fields[0] ?? '', Number(fields[11]), Number(fields[12])];
    return { processorMs: (user + system) * MS_PER_TICK, calls: callsOf(pid), isHeldUp: /[RD]/.test(state) };
  } catch {
    return undefined;
  }
}

function callsOf(pid: number): number {
  try {
    const counts = readFileSync(`/proc/${pid}/io`, 'utf8').matchAll(/^sysc[rw]: (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  } catch {
    return 0;
  }
}
