import type { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

export interface ArchiveEntry {
  /** Path within the archive, with `/` as separator. */
  path: string;
  compress: boolean;
  /** Called when the archive reaches this entry, so that only one entry is open at a time. */
  open: () => Promise<Readable>;
}

/** Generates a ZIP archive while it is read. The stream fails with an entry's error, or when the signal aborts. */
export function createArchive(entries: readonly ArchiveEntry[], mtime: Date, signal: AbortSignal): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  let current: Readable | undefined;
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  const begin = async (open: ArchiveEntry['open'], give: (content: Readable) => void): Promise<void> => {
    const content = await open();
    current = content;
    content.once('error', fail);
    // The archive was aborted while the entry was being opened.
    if (output.destroyed) content.destroy();
    else give(content);
  };
  for (const { path, compress, open } of entries) {
    zip.addReadStreamLazy(path, { mtime, mode: 0o100600, compress }, (give) => {
      begin(open, (content) => give(null, content)).catch(fail);
    });
  }
  zip.end();
  const abort = (): void => fail(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
  signal.addEventListener('abort', abort, { once: true });
  output.once('close', () => {
    signal.removeEventListener('abort', abort);
    current?.destroy();
  });
  if (signal.aborted) abort();
  return output;
}
