import type { FileProblem, ProblemKind } from '../file-reader.js';

/** Ends a job: the file has a problem. */
export class ProblemError extends Error {
  readonly problem: FileProblem;

  constructor(problem: ProblemKind, message: string) {
    super(message);
    this.problem = { problem, message };
  }
}

export function corrupt(what: string): ProblemError {
  return new ProblemError('corrupt', `The ${what} is damaged and cannot be read.`);
}

/** Explains an error that a library threw. */
export function problemOf(error: unknown, what: string): FileProblem {
  if (error instanceof ProblemError) return error.problem;
  const text = String((error as { message?: unknown } | null)?.message ?? error);
  if (/password|encrypt/i.test(text))
    return { problem: 'encrypted', message: `The ${what} is protected by a password.` };
  // A file nests its elements so deeply that the stack of a recursive parser ends.
  if (error instanceof RangeError && /call stack/i.test(text))
    return { problem: 'too_large', message: `The ${what} is nested too deeply.` };
  if (error instanceof RangeError && /(?:array|string|buffer|allocation)/i.test(text))
    return { problem: 'too_much_memory', message: `Reading the ${what} needs too much memory.` };
  return corrupt(what).problem;
}
