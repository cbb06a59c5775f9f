import { z } from 'zod';
import type { Language } from './code-runner.js';

/** The argument of the program, which would wait for code forever when a person starts it. */
export const STARTED_BY_RUNNER = '--code-on-stdin';

/** The process gets one frame with a job, and a body for each file. */
export interface Job {
  language: Language;
  code: string;
  files: string[];
  /** For values in the interpreter. */
  memoryBytes: number;
  outputBytes: number;
  maxFiles: number;
  maxFileBytes: number;
}

/** The process answers with the output in parts, and then with the result, which has a body for each file. */
export const answerSchema = z.discriminatedUnion('frame', [
  z.object({ frame: z.literal('output'), text: z.string() }),
  z.object({
    frame: z.literal('result'),
    error: z.object({ reason: z.enum(['exception', 'memory', 'files', 'crash']), message: z.string() }).exactOptional(),
    files: z.array(z.string()),
  }),
]);

export type Answer = z.infer<typeof answerSchema>;
export type ResultError = NonNullable<Extract<Answer, { frame: 'result' }>['error']>;
