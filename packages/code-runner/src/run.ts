import type { ResultError } from './protocol.js';

export interface RunInput {
  code: string;
  files: ReadonlyMap<string, Uint8Array>;
  memoryBytes: number;
  maxFiles: number;
  write: (bytes: Uint8Array | string) => void;
}

export interface RunOutcome {
  error?: ResultError;
  /** All files in the folder of the code; one more than `maxFiles` at most. */
  files: ReadonlyMap<string, Uint8Array>;
}

/** Runs code in an interpreter that is ready. */
export type Run = (input: RunInput) => Promise<RunOutcome>;
