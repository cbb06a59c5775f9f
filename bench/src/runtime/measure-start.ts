import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchError } from '../settings.js';
import { cpuSeconds } from '../world/processes.js';

export interface StartCase {
  name: string;
  /** Arguments of Node. */
  args: string[];
  env: Record<string, string>;
}

export interface StartFigures {
  /** Milliseconds from the start of the process to the line that reports that it listens. */
  listeningMs: number;
  /** Milliseconds of processor time until then, user and system. */
  cpuMs: number;
  /** Resident MiB at rest. */
  residentMiB: number;
  /** MiB of it that no other process shares: not the code of Node. */
  privateMiB: number;
}

/** Enough for the garbage of the start to be collected. */
const REST_MS = 1_500;

/** Starts a program, waits until it listens and rests, and stops it. @throws BenchError when it ends by itself */
export async function measureStart({ name, args, env }: StartCase): Promise<StartFigures> {
  const started = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  const line = once(createInterface({ input: child.stdout }), 'line');
  try {
    const first = await Promise.race([line.then(() => 'line'), exited.then(() => 'exit')]);
    if (first === 'exit') throw new BenchError(`"${name}" ended before it listened.`);
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

function memoryMiB(pid: number, field: string): number {
  const [, kibibytes] =
    new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) / 1_024;
}
