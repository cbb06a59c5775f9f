import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Ctrl-C reaches us twice, from the terminal and from npm; a person does not press it that fast. */
const SAME_SIGNAL_MS = 1_000;

/**
 * Runs a program in the terminal and waits for its end, whatever signals come: it gets each of them
 * exactly once, so that a second Ctrl-C, and only that, means "now".
 *
 * @returns its exit code; 128 + n when a signal ended it.
 */
export function runForeground(command, args, { interactive, ...options }) {
  return new Promise((resolve, reject) => {
    // In a new process group it gets only our signals; a program that reads the terminal needs
    // the terminal's group, and then the terminal sends it Ctrl-C.
    const child = spawn(command, args, { stdio: 'inherit', detached: !interactive, ...options });
    const fromTerminal = interactive && process.stdin.isTTY === true;
    const forward = createForwarder((signal) => {
      if (!(fromTerminal && signal === 'SIGINT')) child.kill(signal);
    });
    for (const signal of SIGNALS) process.on(signal, forward);
    const done = () => {
      for (const signal of SIGNALS) process.off(signal, forward);
    };
    child.once('error', (error) => {
      done();
      reject(error);
    });
    child.once('exit', (code, signal) => {
      done();
      resolve(exitCode(code, signal));
    });
  });
}

export function exitCode(code, signal) {
  return code ?? 128 + (constants.signals[signal] ?? 0);
}

/** Passes a signal on unless the same one came a moment ago. */
export function createForwarder(send, now = () => performance.now()) {
  const last = new Map();
  return (signal) => {
    const previous = last.get(signal);
    if (previous !== undefined && now() - previous < SAME_SIGNAL_MS) return;
    last.set(signal, now());
    send(signal);
  };
}
