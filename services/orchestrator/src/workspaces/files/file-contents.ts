import { type Readable } from 'node:stream';
import {
  type FileProblem,
  type FileReader,
  type FileSource,
  type FileText,
  isProblem,
  type Picture,
  type ProblemKind,
} from '@uswarm/file-reader';
import { type Logger, unlessAborted } from '@uswarm/service-kit';
import { LRUCache } from 'lru-cache';
import { type ObjectStore, ObjectMissing } from '../../records/object-store.js';
import type { FileContents, FileReading } from '../../turns/request/attached-files.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';

export interface FileContentsDeps {
  objects: Pick<ObjectStore, 'open'>;
  reader: Pick<FileReader, 'text' | 'picture' | 'pages'>;
  logger: Pick<Logger, 'warn'>;
}

/** About a hundred books or pictures. */
const KEPT_BYTES = 64 * 1024 * 1024;
/** Approximates the memory of a result without text, such as a problem. */
const LEAST_BYTES = 1_000;
/** A busy machine can cause these, so the file is read again after some minutes. */
const PASSING: ReadonlySet<ProblemKind> = new Set(['corrupt', 'too_slow', 'too_much_memory']);
const PASSING_MS = 5 * 60_000;

const GONE: FileProblem = { problem: 'corrupt', message: 'The file no longer exists.' };
const UNAVAILABLE: FileProblem = { problem: 'busy', message: 'The file is not available at the moment.' };

type Content = FileText | Picture | Picture[] | FileProblem;

function sizeOf(content: Content): number {
  if (Array.isArray(content)) return content.reduce((sum, { bytes }) => sum + bytes.length, LEAST_BYTES);
  if ('bytes' in content) return LEAST_BYTES + content.bytes.length;
  return 'parts' in content ? content.parts.reduce((sum, { text }) => sum + 2 * text.length, LEAST_BYTES) : LEAST_BYTES;
}

/**
 * Reads files and caches the results: objects never change. A read continues when its caller stops waiting, so that the
 * next caller gets the result.
 */
export function createFileContents({ objects, reader, logger }: FileContentsDeps): FileContents {
  const kept = new LRUCache<string, Content>({ maxSize: KEPT_BYTES, sizeCalculation: sizeOf });
  const begun = new Map<string, Promise<Content>>();
  /** The reader has its own limits. */
  const { signal: unlimited } = new AbortController();

  function keep(key: string, content: Content): void {
    const problem = isProblem(content) ? content.problem : undefined;
    if (problem === 'busy') return;
    kept.set(key, content, problem !== undefined && PASSING.has(problem) ? { ttl: PASSING_MS } : {});
  }

  async function readObject(
    { id, name, mime_type: type, size }: StoredFile,
    owner: string,
    readWith: (file: FileSource) => Promise<Content>,
  ): Promise<Content> {
    let opened: Readable | undefined;
    // Opened when the reader begins: a stream that waits in the queue keeps a connection, and can be cut off.
    async function* bytes(): AsyncGenerator<Uint8Array> {
      opened = await objects.open(id);
      yield* opened as AsyncIterable<Uint8Array>;
    }
    try {
      return await readWith({ name, type, size, owner, bytes: bytes() });
    } catch (error) {
      if (error instanceof ObjectMissing) return GONE;
      logger.warn({ err: error, upload: id }, 'an attached file could not be read');
      return UNAVAILABLE;
    } finally {
      opened?.destroy();
    }
  }

  async function read<Result extends Content>(
    key: string,
    file: StoredFile,
    { userId, signal }: FileReading,
    readWith: (source: FileSource) => Promise<Result | FileProblem>,
  ): Promise<Result | FileProblem> {
    const known = kept.get(key) as Result | undefined;
    if (known !== undefined) return known;
    const result =
      begun.get(key) ??
      readObject(file, userId, readWith).then((content) => {
        begun.delete(key);
        keep(key, content);
        return content;
      });
    begun.set(key, result);
    return (await unlessAborted(result, signal)) as Result | FileProblem;
  }

  return {
    text: (file, reading) => read(`text ${file.id}`, file, reading, (source) => reader.text(source, unlimited)),
    picture: (file, reading) =>
      read(`picture ${file.id}`, file, reading, (source) => reader.picture(source, unlimited)),
    pages: (file, numbers, reading) =>
      read(`pages ${file.id} ${numbers.join()}`, file, reading, (source) => reader.pages(source, numbers, unlimited)),
  };
}
