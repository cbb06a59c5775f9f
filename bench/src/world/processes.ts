import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@uswarm/dev-servers';
import { request } from 'undici';
import type { Job, Measured } from '../load/job.js';
import type { FloorScript } from '../replay/script.js';
import { BenchError } from '../settings.js';

/** A server in a separate process. */
export interface Side {
  url: string;
  pid: number;
  close(): Promise<void>;
}

const START_DEADLINE_MS = 60_000;
/** Program path relative to this folder. */
export const program = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Starts the image's production entry point, which logs to a file. */
export async function startOrchestrator(environment: Record<string, string>, logFile: string): Promise<Side> {
  const port = await freePort();
  const log = openSync(logFile, 'w');
  const main = program('../../../services/orchestrator/dist/main.js');
  const env = { ...environment, NODE_ENV: 'production', HTTP_PORT: String(port) };
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', log, log] });
  endWithThisProcess(child);
  const url = `http://127.0.0.1:${port}`;
  const deadline = performance.now() + START_DEADLINE_MS;
  while (!(await answers(`${url}/v1/health`))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill();
      throw new BenchError(`The orchestrator did not start: ${lastLine(logFile)}`);
    }
    await sleep(100);
  }
  return { url, pid: child.pid ?? 0, close: () => ended(child) };
}

/** Kills the child if this process exits without closing it. */
export function endWithThisProcess(child: ChildProcess): void {
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
}

/** True if the server responds with 200. */
export async function answers(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url);
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

const lastLine = (file: string): string => readFileSync(file, 'utf8').trim().split('\n').at(-1) ?? '';

export async function startFloor(script: FloorScript): Promise<Side> {
  const child = fork(program('../floor/floor-main.js'), { env: { ...process.env, NODE_ENV: 'production' } });
  child.send(script);
  const { url } = await answerOf<{ url: string }>(child);
  return { url, pid: child.pid ?? 0, close: () => ended(child) };
}

/** Measures with a new load generator. */
export async function measure(job: Job): Promise<Measured> {
  const child = fork(program('../load/load-main.js'));
  const exited = once(child, 'exit');
  child.send(job);
  const measured = await answerOf<Measured>(child);
  await exited;
  return measured;
}

/** The child's first message. @throws BenchError if it exits before */
export async function answerOf<Answer>(child: ChildProcess): Promise<Answer> {
  const died = once(child, 'exit').then(([code]) => {
    throw new BenchError(`A process of the benchmark exited with ${String(code)}.`);
  });
  // Its exit is an error only before its result.
  died.catch(() => undefined);
  const [answer] = (await Promise.race([once(child, 'message'), died])) as [Answer];
  return answer;
}

/** Stops the child if it runs. */
export async function ended(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

const TICKS_PER_SECOND = 100;

/** CPU seconds that a process has used; undefined if the system does not report them. */
export function cpuSeconds(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may contain spaces, so fields are counted after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}
