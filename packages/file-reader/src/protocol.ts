import { z } from 'zod';
import type { FileProblem } from './file-reader.js';

/** Without this argument, the program exits: a person who starts it would wait forever. */
export const STARTED_BY_READER = '--file-on-stdin';

/** The process gets a job, `bytes` frames with the file, and `end`. */
export interface Job {
  task: 'text' | 'picture' | 'pages';
  name: string;
  type: string;
  size: number;
  /** Only for `pages`. */
  numbers: number[];
  characters: number;
  pages: number;
}

export type ToProcess = { frame: 'job'; job: Job } | { frame: 'bytes' } | { frame: 'end' };

const problemSchema = z.object({
  problem: z.enum(['encrypted', 'corrupt', 'unsupported', 'too_large', 'too_slow', 'too_much_memory', 'empty', 'busy']),
  message: z.string().max(500),
}) satisfies z.ZodType<FileProblem>;

const textSchema = z.object({
  kind: z.enum(['pages', 'rows', 'slides', 'sections', 'text', 'listing']),
  title: z.string().exactOptional(),
  parts: z.array(z.object({ label: z.string(), text: z.string() })),
  total: z.number(),
  truncated: z.boolean(),
  scanned: z.array(z.number()),
  notes: z.array(z.string()),
});

const pictureSchema = z.object({
  type: z.enum(['image/jpeg', 'image/png']),
  width: z.number(),
  height: z.number(),
  page: z.number().exactOptional(),
});

/** The process answers with `long` at most once, and then with the result. Each picture has a body. */
export const answerSchema = z.discriminatedUnion('frame', [
  /** The file may take the longer time. */
  z.object({ frame: z.literal('long') }),
  z.object({ frame: z.literal('problem'), problem: problemSchema }),
  z.object({ frame: z.literal('text'), text: textSchema }),
  z.object({ frame: z.literal('pictures'), pictures: z.array(pictureSchema) }),
]);

export type Answer = z.infer<typeof answerSchema>;
