import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { collectOutput, tail } from '../quiet.mjs';
import { RunError } from '../run-error.mjs';

const MINUTE_S = 60;
/** Milliseconds between SIGTERM and SIGKILL. */
const GRACE_MS = 10_000;
/** The exit code after a timeout; `timeout` uses the same. */
const LATE = 124;

/** Aborts when the run is interrupted: commands stop, and the run cleans up. */
export const interruption = new AbortController();

/**
 * Starts a program in a new process group. After `limitS` seconds or on `signal` the group is killed, with all
 * processes in it.
 */
function startLimited(command, args, { limitS, signal, ...options }) {
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const ended = new AbortController();
  const kill = (how) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, how);
    } catch {
      // The process has already exited.
    }
  };
  let late = false;
  let force;
  const end = () => {
    kill('SIGTERM');
    force ??= setTimeout(() => kill('SIGKILL'), GRACE_MS);
  };
  const limit = setTimeout(() => {
    late = true;
    end();
  }, limitS * 1000);
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end, { signal: ended.signal });
  child.once('close', () => {
    clearTimeout(limit);
    clearTimeout(force);
    ended.abort();
  });
  return { child, exitCode: (code) => (late ? LATE : (code ?? 1)) };
}

/**
 * Runs a program and its child processes for at most `limitS` seconds.
 *
 * @returns its exit code (124 after a timeout) and its output
 */
export function run(command, args, { limitS = MINUTE_S, signal = interruption.signal, onOutput, ...options } = {}) {
  const { child, exitCode } = startLimited(command, args, { limitS, signal, ...options });
  return collectOutput(child, { onOutput, exitCode });
}

/** @returns the output. @throws RunError with its last lines */
export async function mustRun(command, args, { failure, ...options } = {}) {
  const { code, output } = await run(command, args, options);
  if (code === 0) return output.trim();
  const late = code === LATE ? `: not finished within ${options.limitS ?? MINUTE_S} s` : '';
  throw new RunError(`${tail(output, 30)}\n\n${failure ?? `${command} ${args[0]} failed`}${late}.`);
}

/** Writes a program's standard output, of any size, to a file. */
export function runIntoFile(command, args, file, { limitS = MINUTE_S, signal, ...options } = {}) {
  return new Promise((resolve) => {
    const { child, exitCode } = startLimited(command, args, { limitS, signal, ...options });
    const target = createWriteStream(file);
    target.once('error', () => child.kill());
    child.stdout.pipe(target, { end: false });
    child.stderr.pipe(target, { end: false });
    child.once('error', (error) => target.end(`${error.message}\n`, () => resolve(1)));
    child.once('close', (code) => target.end(() => resolve(exitCode(code))));
  });
}
