import { type LimitedProcess, readFrames, startLimitedProcess, writeFrame } from '@uswarm/service-kit/limited-process';
import type { CodeRequest, CodeResult, WrittenFile } from './code-runner.js';
import { mediaType } from './media-types.js';
import { answerSchema, type Job, STARTED_BY_RUNNER } from './protocol.js';

export interface RunLimits {
  codeBytes: number;
  /** All files for the code. */
  inputBytes: number;
  /** Resident memory. */
  memoryBytes: number;
  timeMs: number;
  processorMs: number;
  outputBytes: number;
  maxFiles: number;
  /** All files that come back. */
  maxFileBytes: number;
}

/** A process that ended without a result. */
export interface CodeCrash {
  language: CodeRequest['language'];
  /** Exit code or signal. */
  exit: string;
  /** Can contain the user's text. */
  output: string;
}

interface Options {
  program: URL;
  request: CodeRequest;
  limits: RunLimits;
  signal: AbortSignal;
  onCrash: (crash: CodeCrash) => void;
}

/** Resident memory beside the interpreter's values. */
const OWN_BYTES = 192 * 1024 * 1024;
const LEAST_VALUES_BYTES = 64 * 1024 * 1024;

const PAGE_BYTES = 64 * 1024;

/** Frames around files, and error texts. */
const OTHER_BYTES = 1024 * 1024;

/** In JSON, a character may need six bytes. */
const BYTES_PER_CHARACTER = 6;

type Verdict = NonNullable<CodeResult['error']>;

/**
 * Runs code in a new process, which is killed when it exceeds a limit.
 *
 * @throws the signal's reason
 */
export async function runProcess({ program, request, limits, signal, onCrash }: Options): Promise<CodeResult> {
  signal.throwIfAborted();
  const started = performance.now();
  const valuesBytes = Math.max(LEAST_VALUES_BYTES, limits.memoryBytes - OWN_BYTES);
  let verdict: Verdict | undefined;
  const kill = (problem?: Verdict) => {
    verdict ??= problem;
    child.kill();
  };
  const child = startLimitedProcess({
    program,
    arguments: [STARTED_BY_RUNNER],
    modules: [import.meta.url],
    memoryBytes: limits.memoryBytes,
    processorMs: limits.processorMs,
    onExcess: (of) => kill(of === 'memory' ? tooMuchMemory : tooSlow(limits)),
    // A program that needs more gets an error that it can handle.
    nodeArguments: [`--wasm-max-mem-pages=${Math.floor(valuesBytes / PAGE_BYTES)}`],
  });
  const abort = () => kill();
  signal.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => kill(tooSlow(limits)), limits.timeMs);
  const received: Received = { output: '', files: [] };
  try {
    const receiving = receive(child, limits, received).catch(() => kill());
    await Promise.race([send(child, request, limits, valuesBytes), child.exited]);
    await receiving;
    if (received.isDone !== true) {
      const exit = await child.exited;
      signal.throwIfAborted();
      if (verdict === undefined) onCrash({ language: request.language, exit, output: child.errors() });
      verdict ??= crashed(child.errors());
    }
    signal.throwIfAborted();
    const { output, files, error = verdict } = received;
    return { output, files, durationMs: performance.now() - started, ...(error === undefined ? {} : { error }) };
  } finally {
    signal.removeEventListener('abort', abort);
    clearTimeout(timer);
    kill();
    await child.exited;
  }
}

const tooMuchMemory: Verdict = { reason: 'memory', message: 'The code needs too much memory and was stopped.' };

const tooSlow = ({ processorMs, timeMs }: RunLimits): Verdict => ({
  reason: 'time',
  message: `The code needs more than ${processorMs / 1000} s of processor time or ${timeMs / 1000} s, and was stopped.`,
});

/** V8 and WebAssembly end the process themselves when their memory is full. */
const crashed = (errors: string): Verdict =>
  /heap out of memory|allocation failed|out of memory/i.test(errors)
    ? tooMuchMemory
    : { reason: 'crash', message: 'The interpreter ended without a result.' };

async function send(
  { stdin }: LimitedProcess,
  { language, code, files = [] }: CodeRequest,
  { outputBytes, maxFiles, maxFileBytes }: RunLimits,
  memoryBytes: number,
): Promise<void> {
  const names = files.map(({ name }) => name);
  const job: Job = { language, code, files: names, memoryBytes, outputBytes, maxFiles, maxFileBytes };
  await writeFrame(
    stdin,
    job,
    files.map(({ bytes }) => bytes),
  );
}

interface Received {
  output: string;
  files: WrittenFile[];
  error?: Verdict;
  isDone?: boolean;
}

/** @throws if the process sends anything but answers within its limits */
async function receive(
  { stdout }: LimitedProcess,
  { outputBytes, maxFiles, maxFileBytes }: RunLimits,
  received: Received,
): Promise<void> {
  const maxBytes = OTHER_BYTES + maxFileBytes + outputBytes * BYTES_PER_CHARACTER;
  for await (const { header, bodies } of readFrames(stdout, maxBytes)) {
    const answer = answerSchema.parse(header);
    if (answer.frame === 'output') {
      received.output += answer.text;
      if (received.output.length > 2 * outputBytes) throw new Error('the process sends too much output');
      continue;
    }
    if (bodies.length > maxFiles || bodies.length !== answer.files.length) throw new Error('malformed');
    received.files = answer.files.map((name, index) => ({
      name: name.replaceAll(/[/\\]/g, '-'),
      type: mediaType(name),
      bytes: bodies[index] ?? new Uint8Array(0),
    }));
    if (answer.error !== undefined) received.error = answer.error;
    received.isDone = true;
    return;
  }
}
