import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { type FileProblem, type FileReader, type FileText, isProblem } from '@uswarm/file-reader';
import { silentLogger } from '@uswarm/service-kit';
import { ObjectMissing } from '../../records/object-store.js';
import { createFileContents } from './file-contents.js';

const file = { id: 'u1', name: 'a.txt', type: 'file', mime_type: 'text/plain', size: 5 } as const;
const ada = { userId: 'ada', signal: new AbortController().signal };

const textOf = (text: string): FileText => ({
  kind: 'text',
  parts: [{ label: '', text }],
  total: 1,
  truncated: false,
  scanned: [],
  notes: [],
});

async function contentOf(bytes: Parameters<FileReader['text']>[0]['bytes']): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** By default, the object is `hello`, and the reader returns it. */
function harness(more: { open?: () => Promise<Readable>; text?: FileReader['text'] } = {}) {
  const streams: Readable[] = [];
  let reads = 0;
  const open = async (): Promise<Readable> => {
    const stream = await (more.open?.() ?? Promise.resolve(Readable.from([Buffer.from('hello')])));
    streams.push(stream);
    return stream;
  };
  const text: FileReader['text'] = async (source, ended) => {
    reads += 1;
    return more.text === undefined ? textOf(await contentOf(source.bytes)) : await more.text(source, ended);
  };
  const reader = { text, picture: text as never, pages: text as never };
  const contents = createFileContents({ objects: { open }, reader, logger: silentLogger });
  return { contents, streams, reads: () => reads };
}

describe('the contents of attached files', () => {
  it('reads a file once, also for callers at the same time', async () => {
    const { contents, reads } = harness();
    const results = await Promise.all([contents.text(file, ada), contents.text(file, ada)]);
    results.push(await contents.text(file, ada));
    expect({ results, reads: reads() }).toEqual({ results: Array(3).fill(textOf('hello')), reads: 1 });
  });

  it('reads a file for its user, so that users take turns', async () => {
    const owners: unknown[] = [];
    const { contents } = harness({
      async text({ owner }) {
        owners.push(owner);
        return textOf('');
      },
    });
    await contents.text(file, ada);
    expect(owners).toEqual(['ada']);
  });

  it('reads on when a caller stops waiting, so that the next one has the result', async () => {
    const { promise: ready, resolve } = Promise.withResolvers<FileText>();
    const { contents, reads } = harness({ text: () => ready });
    await expect(contents.text(file, { ...ada, signal: AbortSignal.timeout(1) })).rejects.toThrow();
    resolve(textOf('late'));
    expect({ text: await contents.text(file, ada), reads: reads() }).toEqual({ text: textOf('late'), reads: 1 });
  });

  it('tells that a file is not available while the object store is down, and reads it afterwards', async () => {
    let isDown = true;
    const { contents } = harness({
      open: () => (isDown ? Promise.reject(new Error('down')) : Promise.resolve(Readable.from([Buffer.from('back')]))),
    });
    expect(await contents.text(file, ada)).toEqual({
      problem: 'busy',
      message: expect.stringContaining('at the moment'),
    });
    isDown = false;
    expect(await contents.text(file, ada)).toEqual(textOf('back'));
  });

  it('tells that a deleted file no longer exists', async () => {
    const { contents } = harness({ open: () => Promise.reject(new ObjectMissing('u1')) });
    expect(await contents.text(file, ada)).toEqual(expect.objectContaining({ message: 'The file no longer exists.' }));
  });

  it('opens no object for a file that the reader refuses', async () => {
    const busy: FileProblem = { problem: 'busy', message: 'Too many files.' };
    const { contents, streams, reads } = harness({ text: () => Promise.resolve(busy) });
    const results = [await contents.text(file, ada), await contents.text(file, ada)];
    expect({ problems: results.every(isProblem), streams, reads: reads() }).toEqual({
      problems: true,
      streams: [],
      reads: 2,
    });
  });

  it('closes the object when the reader ends before it has read everything', async () => {
    const { contents, streams } = harness({
      async text({ bytes }) {
        await (bytes as AsyncGenerator<Uint8Array>).next();
        return { problem: 'too_slow', message: 'Reading the file takes too long.' };
      },
    });
    await contents.text(file, ada);
    await sleep(0);
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([true]);
  });
});
