import { spawn } from 'node:child_process';

/**
 * Runs a command without showing what it prints. `onOutput` sees each piece.
 * @returns its exit code (1 when it could not be run) and everything that it printed.
 */
export function runQuietly(command, args, { onOutput, ...options }) {
  return collectOutput(spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options }), { onOutput });
}

/** Waits for a program that was started. @returns its exit code and everything that it printed */
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
 * Waits for a program and sends it SIGTERM when it logs that it listens. It may log this more than once; it gets one
 * signal, because a service stops in order at the first and dies at the second.
 * @returns its exit code and everything that it printed
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

/** The last lines of a log, without the colours and the empty ones. */
export function tail(output, lines = 40) {
  return output
    .replace(/\u001B\[[\d;]*[A-Za-z]/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-lines)
    .join('\n');
}
