import { createClosableWork, createTaskQueue, QueueFull } from '@uswarm/service-kit';
import { type FileProblem, type FileReader, type FileSource, isProblem, type Picture } from './file-reader.js';
import type { Job } from './protocol.js';
import { type Crash, type ProcessLimits, type ProcessResult, runProcess, tooLarge } from './reader-process.js';

export interface FileReaderOptions {
  /** The program that reads files. By default `program.js` beside this module; a bundle must name its own. */
  program?: URL;
  /** Files that are read at the same time, each in a separate process. Default 1. */
  processes?: number;
  /** Files that wait for a process; more are refused as `busy`. Default 32. */
  queue?: number;
  limits?: Partial<ReaderLimits>;
  /** Additional arguments of Node.js for the process. */
  nodeArguments?: readonly string[];
  /** For logs: a process ended without a result. */
  onCrash?: (crash: Crash) => void;
}

export interface ReaderLimits extends ProcessLimits {
  /** Largest file, in bytes. Default 100 MiB. */
  fileBytes: number;
  /** Resident memory of a process, in bytes. Default 512 MiB. */
  memoryBytes: number;
  /** Time for a file, without its transfer. Default 20 s. */
  timeMs: number;
  /** Time for a PDF with more than 100 pages. Default 60 s. */
  longTimeMs: number;
  /** Characters of text. Default 16 Mi. */
  characters: number;
  /** Pages and slides whose text is read. Default 2,000. */
  pages: number;
  /** Pages in a request for pictures. Default 20. */
  pictures: number;
}

const DEFAULTS: ReaderLimits = {
  fileBytes: 100 * 1024 * 1024,
  memoryBytes: 512 * 1024 * 1024,
  timeMs: 20_000,
  longTimeMs: 60_000,
  characters: 16 * 1024 * 1024,
  pages: 2_000,
  pictures: 20,
};

const BUSY: FileProblem = { problem: 'busy', message: 'Too many files are being read. Try again in a minute.' };

const BROKEN: FileProblem = { problem: 'corrupt', message: 'The file could not be read.' };

/** A reader that starts a process for each file, so that no file can harm the next one. */
export function createFileReader(options: FileReaderOptions = {}): FileReader {
  const { program = new URL('./program.js', import.meta.url), processes = 1, queue = 32 } = options;
  const { nodeArguments = [], onCrash = () => undefined } = options;
  const limits = { ...DEFAULTS, ...options.limits };
  const { characters, pages } = limits;
  const slots = createTaskQueue({ concurrent: processes, maxWaiting: queue });
  const work = createClosableWork('The reader of files is closed.');

  const run = async (task: Job['task'], file: FileSource, numbers: number[], ended: AbortSignal) => {
    const { name, type, size, bytes, owner } = file;
    ended.throwIfAborted();
    if (size === 0) return { problem: 'empty', message: 'The file is empty.' } satisfies FileProblem;
    if (size > limits.fileBytes) return tooLarge(limits);
    const job = { task, name, type, size, numbers, characters, pages };
    try {
      const read = () => runProcess({ program, job, bytes, limits, signal: ended, nodeArguments, onCrash });
      return await slots.run(read, { key: owner, signal: ended });
    } catch (error) {
      if (error instanceof QueueFull) return BUSY;
      throw error;
    }
  };
  const start = (
    task: Job['task'],
    file: FileSource,
    numbers: number[],
    signal: AbortSignal,
  ): Promise<ProcessResult | FileProblem> => work.run(signal, (ended) => run(task, file, numbers, ended));
  return {
    async text(file, signal) {
      const result = await start('text', file, [], signal);
      if (isProblem(result)) return result;
      return result.answer.frame === 'text' ? result.answer.text : BROKEN;
    },
    async picture(file, signal) {
      const result = await start('picture', file, [], signal);
      if (isProblem(result)) return result;
      const [picture] = picturesIn(result);
      return picture ?? BROKEN;
    },
    async pages(file, numbers, signal) {
      const result = await start('pages', file, numbers.slice(0, limits.pictures), signal);
      return isProblem(result) ? result : picturesIn(result).map((picture) => ({ page: 0, ...picture }));
    },
    close: work.close,
  };
}

function picturesIn({ answer, bodies }: ProcessResult): (Picture & { page?: number })[] {
  if (answer.frame !== 'pictures') return [];
  return bodies.flatMap((bytes, index) => {
    const picture = answer.pictures[index];
    return picture === undefined ? [] : [{ ...picture, bytes }];
  });
}
