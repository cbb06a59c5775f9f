import { type FileProblem, type FileReader, type FileText, isProblem, type Picture } from '@uswarm/file-reader';
import { LRUCache } from 'lru-cache';
import { type ObjectStore, ObjectMissing } from '../../records/object-store.js';
import type { FileContents } from '../../turns/request/attached-files.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';

export interface FileContentsDeps {
  objects: Pick<ObjectStore, 'open'>;
  reader: Pick<FileReader, 'text' | 'picture' | 'pages'>;
}

/** Bytes of what was read: about a hundred books or pictures. */
const KEPT_BYTES = 64 * 1024 * 1024;
/** Approximates the memory of a result without text, such as a problem. */
const LEAST_BYTES = 1_000;

const GONE: FileProblem = { problem: 'corrupt', message: 'The file no longer exists.' };

type Content = FileText | Picture | Picture[] | FileProblem;

function sizeOf(content: Content): number {
  if (Array.isArray(content)) return content.reduce((sum, { bytes }) => sum + bytes.length, LEAST_BYTES);
  if ('bytes' in content) return LEAST_BYTES + content.bytes.length;
  return 'parts' in content ? content.parts.reduce((sum, { text }) => sum + 2 * text.length, LEAST_BYTES) : LEAST_BYTES;
}

/**
 * Reads files and keeps the results in memory. Objects never change, so that a result is valid as long as the process
 * runs.
 */
export function createFileContents({ objects, reader }: FileContentsDeps): FileContents {
  const kept = new LRUCache<string, Content>({ maxSize: KEPT_BYTES, sizeCalculation: sizeOf });

  async function read<Result extends Content>(
    key: string,
    { id, name, mime_type: type, size }: StoredFile,
    readWith: (file: Parameters<FileReader['text']>[0]) => Promise<Result | FileProblem>,
  ): Promise<Result | FileProblem> {
    const known = kept.get(key) as Result | undefined;
    if (known !== undefined) return known;
    try {
      const content = await readWith({ name, type, size, bytes: await objects.open(id) });
      const isLasting = !isProblem(content) || content.problem !== 'busy';
      if (isLasting) kept.set(key, content);
      return content;
    } catch (error) {
      if (error instanceof ObjectMissing) return GONE;
      throw error;
    }
  }

  return {
    text: (file, signal) => read(`text ${file.id}`, file, (source) => reader.text(source, signal)),
    picture: (file, signal) => read(`picture ${file.id}`, file, (source) => reader.picture(source, signal)),
    pages: (file, numbers, signal) =>
      read(`pages ${file.id} ${numbers.join()}`, file, (source) => reader.pages(source, numbers, signal)),
  };
}
