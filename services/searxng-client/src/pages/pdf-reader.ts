import { createFileReader, type FileProblem, isProblem } from '@uswarm/file-reader';
import { type ExtractedPage, MAX_TEXT } from './page-extraction.js';
import { PageError } from './page-error.js';

export interface PdfReader {
  /** @throws PageError `unreadable`, `cancelled`, `rate_limited` */
  read(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<ExtractedPage>;
  /** Ends the processes. */
  close(): Promise<void>;
}

/** Relative to this module, also in a bundle. */
const PROGRAM = new URL('../file-reader-main.js', import.meta.url);

/** The pod's memory limit includes it. */
const MEMORY_BYTES = 256 * 1024 * 1024;
const READ_MS = 10_000;
const MAX_PAGES = 500;
const MAX_WAITING = 16;

const NEVER = new AbortController().signal;

/**
 * Reads PDF files, each in a process with limits of time and memory. A thread's limits bound V8's heap only, and decompressed
 * streams are outside of it.
 */
export function createPdfReader({ program = PROGRAM, memoryBytes = MEMORY_BYTES, ms = READ_MS } = {}): PdfReader {
  const files = createFileReader({
    program,
    queue: MAX_WAITING,
    limits: { memoryBytes, timeMs: ms, longTimeMs: ms, characters: MAX_TEXT, pages: MAX_PAGES },
  });
  return {
    async read(bytes, signal) {
      const file = { name: 'page.pdf', type: 'application/pdf', bytes, size: bytes.length };
      const text = await files.text(file, signal ?? NEVER).catch((error: unknown) => {
        throw new PageError('cancelled', 'reading was cancelled', error);
      });
      if (isProblem(text)) throw problemError(text);
      // The reader also reads other files.
      if (text.kind !== 'pages') throw new PageError('unreadable', 'the PDF file is malformed');
      const pages = text.parts.filter((part) => part.text.trim() !== '');
      return {
        title: text.title ?? '',
        author: '',
        site: '',
        published: '',
        language: '',
        markdown: pages.map(({ label, text: content }) => `## ${label}\n\n${content.trim()}`).join('\n\n'),
        isCut: text.truncated,
      };
    },
    close: () => files.close(),
  };
}

/** Our messages begin in lower case and have no full stop. */
function problemError({ problem, message }: FileProblem): PageError {
  if (problem === 'busy') return new PageError('rate_limited', 'too many pages are being read; try again later');
  return new PageError('unreadable', message.charAt(0).toLowerCase() + message.slice(1).replace(/\.$/, ''));
}
