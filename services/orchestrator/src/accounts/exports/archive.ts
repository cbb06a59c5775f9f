import type { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

export interface ArchiveEntry {
  /** Path within the archive, with `/` as separator. */
  path: string;
  compress: boolean;
  /** Called when the archive reaches this entry, so that only one entry is open at a time. */
  open: () => Promise<Readable>;
}

/**
 * Generates a ZIP archive while it is read. An entry is requested after the previous one is read. The stream fails with an
 * entry's error, or when the signal aborts.
 */
export function createArchive(
  entries: Iterable<ArchiveEntry> | AsyncIterable<ArchiveEntry>,
  mtime: Date,
  signal: AbortSignal,
): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  let current: Readable | undefined;
  let next: () => void = () => undefined;
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  const begin = async (open: ArchiveEntry['open'], give: (content: Readable) => void): Promise<void> => {
    const content = await open();
    current = content;
    content.once('error', fail);
    content.once('end', next);
    // The archive was aborted while the entry was being opened.
    if (output.destroyed) content.destroy();
    else give(content);
  };
  const add = async (): Promise<void> => {
    for await (const { path, compress, open } of entries) {
      await new Promise<void>((read) => {
        next = read;
        zip.addReadStreamLazy(path, { mtime, mode: 0o100600, compress }, (give) => {
          begin(open, (content) => give(null, content)).catch(fail);
        });
      });
      if (output.destroyed) return;
    }
    zip.end();
  };
  const abort = (): void => fail(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
  signal.addEventListener('abort', abort, { once: true });
  output.once('close', () => {
    signal.removeEventListener('abort', abort);
    current?.destroy();
    next();
  });
  if (signal.aborted) abort();
  add().catch(fail);
  return output;
}
