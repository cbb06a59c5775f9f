import type { CloseStack } from '@uswarm/service-kit';
import type { Goal } from '../report/goals.js';

/** The result of a part: Markdown rows of its measurements, and its goals. */
export interface PartResult {
  /** The heads of the columns, and the rows. */
  heads: readonly string[];
  rows: readonly (readonly string[])[];
  goals: readonly Goal[];
  /** For the JSON line. */
  figures: unknown;
}

export interface PartContext {
  /** A folder for the servers of the part. */
  folder: string;
  /** Whether this is a smoke test of a few seconds. */
  small: boolean;
  stack: CloseStack;
  say: (line: string) => void;
}

/** A part of `npm run bench -- realtime`. It starts its own servers and closes them with the stack. */
export interface RealtimePart {
  name: string;
  title: string;
  measure(context: PartContext): Promise<PartResult>;
}

/** Milliseconds, shown as seconds. */
export const secondsOf = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
