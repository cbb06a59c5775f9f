export type Language = 'python' | 'javascript';

export interface CodeFile {
  /** Without folders. */
  name: string;
  bytes: Uint8Array;
}

export interface CodeRequest {
  language: Language;
  code: string;
  /** In the program's current folder, by their names. */
  files?: readonly CodeFile[];
  /** Owners take turns when requests wait. */
  owner?: string;
  signal: AbortSignal;
}

export type CodeErrorReason =
  /** The code failed; the message has its stack. */
  | 'exception'
  | 'time'
  | 'memory'
  /** Too many or too large files. */
  | 'files'
  /** The interpreter ended without a result. */
  | 'crash'
  /** Too many requests wait; later it can succeed. */
  | 'busy';

export interface WrittenFile extends CodeFile {
  /** Media type, by the name's ending. */
  type: string;
}

export interface CodeResult {
  /** Standard output and errors in their order, and a last expression's value. */
  output: string;
  error?: { reason: CodeErrorReason; message: string };
  /** New and changed files in the current folder. */
  files: WrittenFile[];
  /** Without the time in the queue. */
  durationMs: number;
}

export interface CodeRunner {
  /** @throws the signal's reason, or that the runner is closed */
  run(request: CodeRequest): Promise<CodeResult>;
  /** Kills the processes. */
  close(): Promise<void>;
}
