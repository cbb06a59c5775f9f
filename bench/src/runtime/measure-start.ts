import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchError } from '../settings.js';
import { cpuSeconds } from '../world/processes.js';

export interface StartCase {
  name: string;
  /** Arguments of Node.js. */
  args: string[];
  env: Record<string, string>;
}

export interface StartFigures {
  /** Milliseconds from process start to the line that reports that it listens. */
  listeningMs: number;
  /** CPU time until then in milliseconds, user and system. */
  cpuMs: number;
  /** Resident MiB at rest. */
  residentMiB: number;
  /** Unshared part of it in MiB, without the code of Node.js. */
  privateMiB: number;
}

/** Long enough for a garbage collection after the start. */
export const REST_MS = 3_000;

/** Starts a program, waits until it listens and is idle, and stops it. @throws BenchError when it exits early */
export async function measureStart({ name, args, env }: StartCase): Promise<StartFigures> {
  const started = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  const line = once(createInterface({ input: child.stdout }), 'line');
  try {
    const first = await Promise.race([line.then(() => 'line'), exited.then(() => 'exit')]);
    if (first === 'exit') throw new BenchError(`"${name}" exited before it listened.`);
    const listeningMs = performance.now() - started;
    const pid = child.pid ?? 0;
    const cpuMs = (cpuSeconds(pid) ?? Number.NaN) * 1_000;
    await sleep(REST_MS);
    return { listeningMs, cpuMs, residentMiB: memoryMiB(pid, 'VmRSS'), privateMiB: memoryMiB(pid, 'RssAnon') };
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
}

/** A field of `/proc/<pid>/status`, in MiB. */
export function memoryMiB(pid: number, field: string): number {
  const [, kibibytes] =
    new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) / 1_024;
}
