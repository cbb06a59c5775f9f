import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { nodeBinary } from './environment.mjs';
import { watchedBy } from './parent-watch.mjs';

export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Ctrl-C arrives twice, from the terminal and from npm, faster than a user can press it. */
const SAME_SIGNAL_MS = 1_000;
const PARENT_WATCH = new URL('parent-watch.mjs', import.meta.url).href;

/**
 * Runs a program in the terminal and waits for its exit. It forwards each signal exactly once, so that only a second Ctrl-C
 * forces an immediate exit.
 *
 * @param deliver forwards a signal to the child; by default with `kill`
 * @returns its exit code; 128 + n if signal n killed it
 */
export function runForeground(command, args, { interactive, deliver = kill, ...options }) {
  return new Promise((resolve, reject) => {
    // In a new process group, it gets only our signals. A program that reads the terminal needs the terminal's group,
    // which then sends Ctrl-C to it.
    const child = spawn(command, watched(command, args), {
      stdio: 'inherit',
      detached: !interactive,
      ...options,
      env: { ...(options.env ?? process.env), ...watchedBy(process.pid) },
    });
    const fromTerminal = interactive && process.stdin.isTTY === true;
    const forward = createForwarder((signal) => {
      if (!(fromTerminal && signal === 'SIGINT')) deliver(child, signal);
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

/** A Node program ends with this process, also if this one is killed. */
const watched = (command, args) => (command === nodeBinary ? ['--import', PARENT_WATCH, ...args] : args);

const kill = (child, signal) => void child.kill(signal);

export function exitCode(code, signal) {
  return code ?? 128 + (constants.signals[signal] ?? 0);
}

/** Forwards a signal unless the same one has just arrived. */
export function createForwarder(send, now = () => performance.now()) {
  const last = new Map();
  return (signal) => {
    const previous = last.get(signal);
    if (previous !== undefined && now() - previous < SAME_SIGNAL_MS) return;
    last.set(signal, now());
    send(signal);
  };
}
