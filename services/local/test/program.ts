import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');

export interface Program {
  pid: number;
  /** Everything it printed. */
  output(): string;
  /** Resolves with what matched once the output has it; rejects when the program ends first. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends the signal and waits for the end. @returns the exit code, null where the signal ended it */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  ended: Promise<number | null>;
}

/** Runs a built program of the workspace, by its path from the repository, with this environment alone. */
export function runProgram(script: string, args: readonly string[], env: Record<string, string>): Program {
  const child = spawn(process.execPath, [path.join(REPOSITORY, script), ...args], {
    cwd: REPOSITORY,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout.on('data', (piece: Buffer) => (text += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (text += piece.toString()));
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  return {
    pid: child.pid!,
    output: () => text,
    ended,
    async printed(pattern) {
      for (;;) {
        const match = pattern.exec(text);
        if (match !== null) return match;
        const more = Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]).then(() => 'more');
        if ((await Promise.race([more, ended.then(() => 'ended')])) === 'ended' && !pattern.test(text)) {
          throw new Error(`${script} ended before it printed ${pattern}:\n${text}`);
        }
      }
    },
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
  };
}
