import { Worker } from 'node:worker_threads';
import { createTaskQueue, QueueFull } from '@uswarm/service-kit';
import { FileNotWritten, type FileRequest, type Reason, type WrittenFile } from './file-types.js';
import { isText, writeText } from './write-text.js';

export interface FileWriterOptions {
  timeoutMs?: number;
  /** Limits the thread, in MiB. */
  heapMiB?: number;
  /** Files that wait. More are refused. */
  maxWaiting?: number;
}

export interface WriteOptions {
  /** Owners take turns when files wait. */
  owner?: string;
  signal?: AbortSignal;
}

export interface FileWriter {
  /** @throws FileNotWritten also if it takes too long, or too many files wait */
  write(request: FileRequest, options?: WriteOptions): Promise<WrittenFile>;
}

type Answer = { file: WrittenFile } | { problem: { reason: Reason; message: string } };

/** Sources have no program; a bundle has it beside its other programs. */
const PROGRAM = new URL(
  import.meta.url.endsWith('.ts') ? '../dist/file-writer-worker.js' : './file-writer-worker.js',
  import.meta.url,
);

/** Maximum UTF-8 bytes of the content. */
const MAX_CONTENT_BYTES = 256 * 1024;

/** Writes one document at a time, each in a new thread, which takes its memory with it. */
export function createFileWriter(options: FileWriterOptions = {}): FileWriter {
  const { timeoutMs = 10_000, heapMiB = 256, maxWaiting = 20 } = options;
  const queue = createTaskQueue({ concurrent: 1, maxWaiting });

  return {
    async write(request, { owner, signal } = {}) {
      if (Buffer.byteLength(request.content) > MAX_CONTENT_BYTES)
        throw new FileNotWritten(
          'limit',
          `The content has more than ${MAX_CONTENT_BYTES / 1024} KiB. Write several files.`,
        );
      if (isText(request)) return writeText(request);
      try {
        return await queue.run(() => writeInThread(request, { timeoutMs, heapMiB, signal }), { key: owner, signal });
      } catch (error) {
        if (error instanceof QueueFull)
          throw new FileNotWritten('busy', 'Too many files are being written. Try again later.', { cause: error });
        throw error;
      }
    },
  };
}

interface ThreadLimits {
  timeoutMs: number;
  heapMiB: number;
  signal: AbortSignal | undefined;
}

async function writeInThread(request: FileRequest, { timeoutMs, heapMiB, signal }: ThreadLimits): Promise<WrittenFile> {
  const worker = new Worker(PROGRAM, {
    workerData: request,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: 32 },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const stop = (): void => reject(signal?.reason);
  const timer = setTimeout(
    () => reject(new FileNotWritten('limit', 'Writing the file took too long. Write a shorter one, or several.')),
    timeoutMs,
  );
  signal?.addEventListener('abort', stop, { once: true });
  worker.once('message', resolve);
  worker.once('error', (error: NodeJS.ErrnoException) =>
    reject(
      error.code === 'ERR_WORKER_OUT_OF_MEMORY' || error instanceof RangeError
        ? new FileNotWritten('limit', 'The content is too complex. Write a simpler or shorter one.', { cause: error })
        : error,
    ),
  );
  worker.once('exit', () => reject(new Error('the thread ended without a file')));
  try {
    const answer = await promise;
    if ('problem' in answer) throw new FileNotWritten(answer.problem.reason, answer.problem.message);
    return answer.file;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    await worker.terminate();
  }
}
