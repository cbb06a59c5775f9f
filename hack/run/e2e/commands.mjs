import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { runQuietly, tail } from '../quiet.mjs';
import { RunError } from '../run-error.mjs';

const MINUTE_S = 60;

/** Ends when somebody ends the run: commands stop, what was started is then cleaned up. */
export const interruption = new AbortController();

/**
 * Runs a program with everything that it starts, for at most `limitS` seconds.
 *
 * @returns its exit code (124 when it took too long) and everything that it printed
 */
export function run(command, args, { limitS = MINUTE_S, signal = interruption.signal, ...options } = {}) {
  // `timeout` makes a group of processes, so that what a script started ends with it.
  return runQuietly('timeout', ['--kill-after=10', String(limitS), command, ...args], { signal, ...options });
}

/** @returns what it printed. @throws RunError with its last lines */
export async function mustRun(command, args, { failure, ...options } = {}) {
  const { code, output } = await run(command, args, options);
  if (code === 0) return output.trim();
  const late = code === 124 ? ` within ${options.limitS ?? MINUTE_S} s` : '';
  throw new RunError(`${tail(output, 30)}\n\n${failure ?? `${command} ${args[0]} failed`}${late}.`);
}

/** Writes what a program prints on its standard output, however much that is, into a file. */
export function runIntoFile(command, args, file, { limitS = MINUTE_S, ...options } = {}) {
  return new Promise((resolve) => {
    const child = spawn('timeout', ['--kill-after=10', String(limitS), command, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      ...options,
    });
    const target = createWriteStream(file);
    target.once('error', () => child.kill());
    child.stdout.pipe(target, { end: false });
    child.stderr.pipe(target, { end: false });
    child.once('error', (error) => target.end(`${error.message}\n`, () => resolve(1)));
    child.once('close', (code) => target.end(() => resolve(code ?? 1)));
  });
}
