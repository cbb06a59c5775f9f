import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { programFile } from '@uswarm/testkit/program-file';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');

export interface Program {
  pid: number;
  /** All output. */
  output(): string;
  /** Standard output. */
  stdout(): string;
  /** Standard error. */
  stderr(): string;
  /** Resolves with the match once it is printed; rejects if the program ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Writes to standard input; without a text, ends it. */
  type(text?: string): void;
  /** Sends the signal and waits for the end. @returns the exit code; null if the signal ended it */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** The exit code, after all output was read. */
  ended: Promise<number | null>;
}

/**
 * Runs a built program, by its path in the repository or an absolute path, with only this environment. Its standard input stays open until the
 * test ends it.
 */
export function runProgram(script: string, args: readonly string[], env: Record<string, string>): Program {
  const child = spawn(process.execPath, [programFile(script), ...args], {
    cwd: REPOSITORY,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const printed = { all: '', stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (piece: string) => {
      printed[name] += piece;
      printed.all += piece;
    });
  }
  // Ignores writes to a program that has ended.
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return {
    pid: child.pid!,
    output: () => printed.all,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    ended,
    type: (text) => void (text === undefined ? child.stdin.end() : child.stdin.write(text)),
    async printed(pattern) {
      for (;;) {
        const match = pattern.exec(printed.all);
        if (match !== null) return match;
        const more = Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]).then(() => 'more');
        if ((await Promise.race([more, ended.then(() => 'ended')])) === 'ended' && !pattern.test(printed.all)) {
          throw new Error(`${script} ended before it printed ${pattern}:\n${printed.all}`);
        }
      }
    },
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
  };
}
