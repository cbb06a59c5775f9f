import { spawn } from 'node:child_process';
import { RunError } from './run-error.mjs';

/** Running commands, except those with their own process group. */
export const quietChildren = new Set();

/**
 * Runs a command without printing its output. `onOutput` receives each chunk.
 * @returns its exit code (1 if it could not be started) and its output
 */
export function runQuietly(command, args, { onOutput, ...options }) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  quietChildren.add(child);
  child.once('close', () => quietChildren.delete(child));
  child.once('error', () => quietChildren.delete(child));
  return collectOutput(child, { onOutput });
}

/**
 * Runs a command without printing its output.
 *
 * @returns the output. @throws RunError with its last lines and `failure`, without a dot at the end
 */
export async function mustRunQuietly(command, args, { failure, ...options }) {
  const { code, output } = await runQuietly(command, args, options);
  if (code !== 0) throw new RunError(`${tail(output, 10)}\n\n${failure}.`);
  return output;
}

/** Waits for a started program. @returns its exit code and its output */
export function collectOutput(child, { onOutput = () => {}, exitCode = (code) => code ?? 1 } = {}) {
  return new Promise((resolve) => {
    let output = '';
    const take = (chunk) => {
      output += chunk;
      onOutput(String(chunk));
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.once('error', (error) => resolve({ code: 1, output: `${output}${error.message}\n` }));
    child.once('close', (code) => resolve({ code: exitCode(code), output }));
  });
}

/**
 * Waits for a program and sends SIGTERM when it logs that it listens. It gets one signal even if it logs this twice, because
 * a second signal kills a service that is stopping.
 * @returns its exit code and its output
 */
export function stopOnceListening(child) {
  let stopped = false;
  const onOutput = (text) => {
    if (stopped || !text.includes('"listening"')) return;
    stopped = true;
    child.kill('SIGTERM');
  };
  return collectOutput(child, { onOutput });
}

/** A log's last lines without colours and empty lines. */
export function tail(output, lines = 40) {
  return output
    .replace(/\u001B\[[\d;]*[A-Za-z]/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-lines)
    .join('\n');
}
