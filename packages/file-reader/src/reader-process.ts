import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { FileProblem, FileSource } from './file-reader.js';
import { encodeFrame, readFrames } from './frames.js';
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

const MEMORY_CHECK_MS = 50;

const OUTPUT_TAIL = 4_000;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Reads one file in a new process, which is killed when it exceeds a limit.
 *
 * @throws the signal's reason, or what reading the bytes threw
 */
export async function runProcess(options: Options): Promise<ProcessResult | FileProblem> {
  const { job, limits, signal, onCrash } = options;
  signal.throwIfAborted();
  const child = startProcess(options);
  const exited = exitOf(child);
  const output = tailOf(child.stderr);
  let verdict: FileProblem | undefined;
  const kill = (problem?: FileProblem) => {
    verdict ??= problem;
    child.kill('SIGKILL');
  };
  const abort = () => kill();
  signal.addEventListener('abort', abort, { once: true });
  const clock = createClock(() => kill(tooSlow));
  const stopWatching = watchMemory(child, limits.memoryBytes, () => kill(tooMuchMemory));
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
    onCrash({ task: job.task, exit, output: output() });
    return crashProblem(output());
  } finally {
    signal.removeEventListener('abort', abort);
    clock.stop();
    stopWatching();
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

function startProcess({ program, limits, nodeArguments }: Options): Child {
  const path = fileURLToPath(program);
  const heap = Math.max(64, Math.floor((limits.memoryBytes / 1024 / 1024) * 0.75));
  const flags = [
    `--max-old-space-size=${heap}`,
    '--disallow-code-generation-from-strings',
    '--no-addons',
    '--no-warnings',
    '--permission',
    ...readableFolders(path, fileURLToPath(import.meta.url)).map((folder) => `--allow-fs-read=${folder}`),
  ];
  // The environment has the service's credentials.
  const child = spawn(process.execPath, [...flags, ...nodeArguments, path, STARTED_BY_READER], {
    env: {},
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  yieldToService(child);
  return child;
}

/** The service comes first when processor time or memory is scarce. */
function yieldToService({ pid }: Child): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The process has ended, or the system does not allow it.
  }
  if (process.platform === 'linux') void writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => undefined);
}

/** Includes the program's folder; in a checkout, also this package and its dependencies. */
function readableFolders(...files: string[]): string[] {
  const folders = new Set<string>();
  for (const folder of files.map((file) => dirname(file))) {
    folders.add(join(folder, '*'));
    for (let at = folder; at !== dirname(at); at = dirname(at))
      if (existsSync(join(at, 'node_modules'))) folders.add(join(at, 'node_modules', '*'));
  }
  return [...folders];
}

async function send({ stdin }: Child, { job, bytes, limits }: Options): Promise<'sent' | 'too long'> {
  // The process may end before it has read everything.
  stdin.on('error', () => undefined);
  const write = async (message: ToProcess, bodies: Uint8Array[] = []) => {
    for (const chunk of encodeFrame(message, bodies)) if (!stdin.write(chunk)) await drained(stdin);
  };
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

function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) return resolve();
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
  });
}

/** @throws if the process sends anything but an answer */
async function receive(
  { stdout }: Child,
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

function exitOf(child: Child): Promise<string> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? `code ${code}`));
    child.once('error', (error) => resolve(error.message));
  });
}

function tailOf(stream: Readable): () => string {
  let tail = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => (tail = (tail + text).slice(-OUTPUT_TAIL)));
  return () => tail;
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

/** Only Linux tells the memory of another process cheaply; elsewhere, the heap's limit remains. */
function watchMemory({ pid }: Child, limit: number, onExcess: () => void): () => void {
  if (process.platform !== 'linux' || pid === undefined) return () => undefined;
  const check = async () => {
    const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
    const kibibytes = Number(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1] ?? 0);
    if (kibibytes * 1024 > limit) onExcess();
  };
  const timer = setInterval(() => void check(), MEMORY_CHECK_MS);
  return () => clearInterval(timer);
}
