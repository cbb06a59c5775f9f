import { type LimitedProcess, readFrames, startLimitedProcess, writeFrame } from '@uswarm/service-kit/limited-process';
import type { FileProblem, FileSource } from './file-reader.js';
import { type Answer, answerSchema, type Job, STARTED_BY_READER, type ToProcess } from './protocol.js';

export interface ProcessLimits {
  fileBytes: number;
  memoryBytes: number;
  timeMs: number;
  longTimeMs: number;
  characters: number;
}

export interface Crash {
  task: Job['task'];
  /** Exit code or signal. */
  exit: string;
  /** Ends with the newest output. May contain the file's text. */
  output: string;
}

export interface ProcessResult {
  answer: Extract<Answer, { frame: 'text' | 'pictures' }>;
  bodies: Uint8Array[];
}

interface Options {
  program: URL;
  job: Job;
  bytes: FileSource['bytes'];
  limits: ProcessLimits;
  signal: AbortSignal;
  nodeArguments: readonly string[];
  onCrash: (crash: Crash) => void;
}

/** Smaller than what the process accepts in a message. */
const CHUNK_BYTES = 1024 * 1024;

/** In JSON, a character may need six bytes. */
const BYTES_PER_CHARACTER = 6;
const OTHER_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * Reads one file in a new process, which is killed when it exceeds a limit.
 *
 * @throws the signal's reason, or what reading the bytes threw
 */
export async function runProcess(options: Options): Promise<ProcessResult | FileProblem> {
  const { program, job, limits, signal, nodeArguments, onCrash } = options;
  signal.throwIfAborted();
  const child = startLimitedProcess({
    program,
    arguments: [STARTED_BY_READER],
    modules: [import.meta.url],
    memoryBytes: limits.memoryBytes,
    onExcess: () => kill(tooMuchMemory),
    nodeArguments,
  });
  const { exited, errors } = child;
  let verdict: FileProblem | undefined;
  const kill = (problem?: FileProblem) => {
    verdict ??= problem;
    child.kill();
  };
  const abort = () => kill();
  signal.addEventListener('abort', abort, { once: true });
  const clock = createClock(() => kill(tooSlow));
  try {
    const receiving = receive(child, limits, () => clock.extend(limits.longTimeMs)).catch((error: unknown) => {
      kill();
      return error instanceof Error ? error : new Error(String(error));
    });
    // A source that hangs does not keep a job whose process is dead.
    const sending = Promise.race([send(child, options), exited]);
    const sent = await sending.catch((error: unknown) => {
      kill();
      throw error;
    });
    if (sent === 'too long') kill(tooLarge(limits));
    clock.start(limits.timeMs);
    const received = await receiving;
    const done = received !== undefined && !(received instanceof Error);
    if (done && verdict === undefined && !signal.aborted) return received;
    const exit = await exited;
    signal.throwIfAborted();
    if (verdict !== undefined) return verdict;
    onCrash({ task: job.task, exit, output: errors() });
    return crashProblem(errors());
  } finally {
    signal.removeEventListener('abort', abort);
    clock.stop();
    kill();
    await exited;
  }
}

const tooSlow: FileProblem = { problem: 'too_slow', message: 'Reading the file takes too long.' };

const tooMuchMemory: FileProblem = { problem: 'too_much_memory', message: 'Reading the file needs too much memory.' };

export function tooLarge({ fileBytes }: Pick<ProcessLimits, 'fileBytes'>): FileProblem {
  const mebibytes = Math.floor(fileBytes / 1024 / 1024).toLocaleString('en-US');
  return { problem: 'too_large', message: `The file is larger than ${mebibytes} MiB.` };
}

/** V8 and WebAssembly end the process themselves when their memory is full. */
function crashProblem(output: string): FileProblem {
  if (/heap out of memory|allocation failed|out of memory/i.test(output)) return tooMuchMemory;
  return { problem: 'corrupt', message: 'The file is damaged and cannot be read.' };
}

async function send({ stdin }: LimitedProcess, { job, bytes, limits }: Options): Promise<'sent' | 'too long'> {
  const write = (message: ToProcess, bodies?: Uint8Array[]) => writeFrame(stdin, message, bodies);
  await write({ frame: 'job', job });
  let size = 0;
  for await (const chunk of bytes instanceof Uint8Array ? [bytes] : bytes) {
    size += chunk.length;
    // The size was a promise; the process has as much memory.
    if (size > job.size || size > limits.fileBytes) return 'too long';
    for (let start = 0; start < chunk.length; start += CHUNK_BYTES)
      await write({ frame: 'bytes' }, [chunk.subarray(start, start + CHUNK_BYTES)]);
    if (stdin.destroyed) break;
  }
  await write({ frame: 'end' });
  return 'sent';
}

/** @throws if the process sends anything but an answer */
async function receive(
  { stdout }: LimitedProcess,
  { characters }: ProcessLimits,
  onLong: () => void,
): Promise<ProcessResult | FileProblem | undefined> {
  const maxBytes = OTHER_OUTPUT_BYTES + characters * BYTES_PER_CHARACTER;
  for await (const { header, bodies } of readFrames(stdout, maxBytes)) {
    const answer = answerSchema.parse(header);
    if (answer.frame === 'long') onLong();
    else return answer.frame === 'problem' ? answer.problem : { answer, bodies };
  }
  return undefined;
}

/** Starts a deadline that can be moved once. */
function createClock(onEnd: () => void) {
  let started: number | undefined;
  let limit: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const set = () => {
    if (started === undefined || limit === undefined) return;
    clearTimeout(timer);
    timer = setTimeout(onEnd, started + limit - Date.now());
  };
  return {
    start(ms: number) {
      started = Date.now();
      limit ??= ms;
      set();
    },
    extend(ms: number) {
      limit = ms;
      set();
    },
    stop: () => clearTimeout(timer),
  };
}
