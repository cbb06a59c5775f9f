import { Worker } from 'node:worker_threads';
import { createTaskQueue, QueueFull } from '@uswarm/service-kit';
import { PageError } from './page-error.js';

export interface ExtractedPage {
  title: string;
  author: string;
  site: string;
  published: string;
  language: string;
  markdown: string;
  isCut: boolean;
  hint?: 'script' | { forwardsTo: string };
}

export interface Document {
  html: string;
  url: string;
}

/** Kept characters of a document. */
export const MAX_TEXT = 600_000;

/** @throws PageError `unreadable`, `cancelled`, `rate_limited` */
export type Extract = (document: Document, signal: AbortSignal | undefined) => Promise<ExtractedPage>;

const EXTRACT_MS = 6_000;
/** Memory of one page, without its bytes. */
const LIMITS = { maxOldGenerationSizeMb: 160, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
/** Pages that are converted at the same time in this process. */
const MAX_RUNNING = 2;
const MAX_WAITING = 16;

/** The thread's program has the same suffix as this module. */
const PROGRAM = new URL(`../extract-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

const COMPLEX = 'the page is too complex to read';
const CANCELLED = 'reading was cancelled';

type Answer = { extracted: ExtractedPage } | { failed: 'complex' | 'malformed' };

function inThread(document: Document, signal: AbortSignal | undefined, ms: number): Promise<ExtractedPage> {
  return new Promise((resolve, reject) => {
    // It has none of this process's settings.
    const worker = new Worker(PROGRAM, {
      workerData: document,
      resourceLimits: LIMITS,
      env: {},
      execArgv: [],
      argv: [],
    });
    let ended = false;
    /** Settles when the thread has ended, so that no more of them than allowed exist. */
    const end = (settle: () => void): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      worker.terminate().then(settle, settle);
    };
    const fail = (code: 'unreadable' | 'cancelled', text: string, cause?: unknown): void =>
      end(() => reject(new PageError(code, text, cause)));
    const cancel = (): void => fail('cancelled', CANCELLED);
    const timer = setTimeout(() => fail('unreadable', COMPLEX), ms);
    if (signal?.aborted === true) return cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    worker.once('message', (answer: Answer) => {
      if ('extracted' in answer) return end(() => resolve(answer.extracted));
      return fail('unreadable', answer.failed === 'complex' ? COMPLEX : 'the page is malformed');
    });
    // Also when it has used its memory.
    worker.once('error', (error) => fail('unreadable', COMPLEX, error));
    worker.once('exit', () => fail('unreadable', COMPLEX));
  });
}

/**
 * Converts web pages in threads with limits of time and memory: a hostile page ends its own thread, and neither blocks
 * nor ends this process.
 */
export function createExtraction(ms = EXTRACT_MS): Extract {
  const queue = createTaskQueue({ concurrent: MAX_RUNNING, maxWaiting: MAX_WAITING });
  return async (document, signal) => {
    try {
      return await queue.run(() => inThread(document, signal, ms), { signal });
    } catch (error) {
      if (error instanceof QueueFull)
        throw new PageError('rate_limited', 'too many pages are being read; try again later', error);
      if (signal?.aborted === true && !(error instanceof PageError)) throw new PageError('cancelled', CANCELLED, error);
      throw error;
    }
  };
}
