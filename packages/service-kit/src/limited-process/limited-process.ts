import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { dirname, join, sep } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { encodeFrame } from './frames.js';

export interface LimitedProcessOptions {
  program: URL;
  /** Arguments of the program. */
  arguments: readonly string[];
  /** Modules whose folders the program reads, besides its own. */
  modules: readonly string[];
  /** Resident memory, in bytes. Watched on Linux; elsewhere, only the heap of V8 has a limit. */
  memoryBytes: number;
  /** Processor time, in milliseconds. Watched on Linux. Default: no limit. */
  processorMs?: number;
  /** Called once the process has more memory or time than it may have. */
  onExcess: (of: 'memory' | 'processor') => void;
  /** Additional arguments of Node.js. */
  nodeArguments?: readonly string[];
}

/** A process for work that may be hostile: without environment, files, network and processes. */
export interface LimitedProcess {
  pid: number | undefined;
  stdin: Writable;
  stdout: Readable;
  /** Exit code, signal or why it did not start; never rejects. */
  exited: Promise<string>;
  /** Its standard error, cut at the beginning. */
  errors(): string;
  kill(): void;
}

const CHECK_MS = 50;

const ERRORS_TAIL = 4_000;

/** In `/proc`, on all Linux systems that Node.js supports. */
const TICKS_PER_S = 100;

export function startLimitedProcess(options: LimitedProcessOptions): LimitedProcess {
  const { memoryBytes, nodeArguments = [] } = options;
  const path = fileURLToPath(options.program);
  const heap = Math.max(64, Math.floor((memoryBytes / 1024 / 1024) * 0.75));
  const readable = readableFolders(path, ...[...options.modules, import.meta.url].map((url) => fileURLToPath(url)));
  const flags = [
    `--max-old-space-size=${heap}`,
    '--disallow-code-generation-from-strings',
    '--no-addons',
    '--no-warnings',
    '--permission',
    ...readable.map((folder) => `--allow-fs-read=${folder}`),
  ];
  // The environment has the service's credentials.
  const child = spawn(process.execPath, [...flags, ...nodeArguments, path, ...options.arguments], {
    env: {},
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const { pid, stdin, stdout } = child;
  // The process may end before it has read everything.
  stdin.on('error', () => undefined);
  if (pid !== undefined) yieldToService(pid);
  const stopWatching = pid === undefined ? () => undefined : watch(pid, options);
  const exited = new Promise<string>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? `code ${code}`));
    child.once('error', (error) => resolve(error.message));
  });
  void exited.then(stopWatching);
  return { pid, stdin, stdout, exited, errors: tailOf(child.stderr), kill: () => child.kill('SIGKILL') };
}

/** Waits while the process does not read. */
export async function writeFrame(stream: Writable, header: object, bodies: readonly Uint8Array[] = []): Promise<void> {
  for (const chunk of encodeFrame(header, bodies)) if (!stream.write(chunk)) await drained(stream);
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

/** The service comes first when processor time or memory is scarce. */
function yieldToService(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The process has ended, or the system does not allow it.
  }
  if (process.platform === 'linux') void writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => undefined);
}

/** The files' folders; in a checkout, also their compiled modules and dependencies. */
function readableFolders(...files: string[]): string[] {
  const folders = new Set<string>();
  for (const folder of files.map((file) => dirname(file))) {
    folders.add(join(folder, '*'));
    folders.add(join(compiled(folder), '*'));
    for (let at = folder; at !== dirname(at); at = dirname(at))
      if (existsSync(join(at, 'node_modules'))) folders.add(join(at, 'node_modules', '*'));
  }
  return [...folders];
}

/** Tests run sources, and processes run what is compiled from them. */
function compiled(folder: string): string {
  const start = `${folder}${sep}`.lastIndexOf(`${sep}src${sep}`);
  return start < 0 ? folder : join(folder.slice(0, start), 'dist', folder.slice(start + '/src'.length));
}

function tailOf(stream: Readable): () => string {
  let tail = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => (tail = (tail + text).slice(-ERRORS_TAIL)));
  return () => tail;
}

/** Only Linux tells another process's use cheaply. */
function watch(pid: number, { memoryBytes, processorMs = Infinity, onExcess }: LimitedProcessOptions): () => void {
  if (process.platform !== 'linux') return () => undefined;
  const check = async () => {
    const [status, stat] = await Promise.all(
      ['status', 'stat'].map((file) => readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '')),
    );
    if (residentBytes(status ?? '') > memoryBytes) onExcess('memory');
    else if (usedMs(stat ?? '') > processorMs) onExcess('processor');
  };
  const timer = setInterval(() => void check(), CHECK_MS);
  return () => clearInterval(timer);
}

const residentBytes = (status: string): number => Number(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;

/** The fields 14 and 15; the second, in parentheses, may contain anything. */
function usedMs(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  return (ticks / TICKS_PER_S) * 1_000;
}
