import type { CloseStack } from '@uswarm/service-kit';
import type { Goal } from '../report/goals.js';

/** Result: Markdown rows with measurements, and goals. */
export interface PartResult {
  /** Column heads, and rows. */
  heads: readonly string[];
  rows: readonly (readonly string[])[];
  goals: readonly Goal[];
  /** For the JSON line. */
  figures: unknown;
}

export interface PartContext {
  /** Folder for the part's servers. */
  folder: string;
  /** True for a smoke test that takes a few seconds. */
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
