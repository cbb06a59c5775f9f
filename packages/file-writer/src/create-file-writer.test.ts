import { describe, expect, it } from '@jest/globals';
import { createFileWriter } from './create-file-writer.js';
import { FileNotWritten } from './file-types.js';

const PDF = { type: 'pdf', name: 'Tea', content: '# Tea' } as const;
const reasonOf = async (written: Promise<unknown>): Promise<string> => {
  const error: unknown = await written.catch((thrown: unknown) => thrown);
  if (!(error instanceof FileNotWritten)) throw new Error('it was written, or failed', { cause: error });
  return `${error.reason}: ${error.message}`;
};

describe('a writer of files', () => {
  it('writes a document in a thread', async () => {
    const { bytes, type, name } = await createFileWriter({ timeoutMs: 60_000 }).write(PDF);
    expect(Buffer.from(bytes.slice(0, 5)).toString()).toBe('%PDF-');
    expect({ type, name }).toEqual({ type: 'application/pdf', name: 'Tea.pdf' });
  });

  it('terminates a thread that takes too long', async () => {
    const content = `${'>'.repeat(100_000)} x`;
    const begun = performance.now();
    expect(await reasonOf(createFileWriter({ timeoutMs: 200 }).write({ ...PDF, content }))).toMatch(
      /^limit: .* too long/,
    );
    expect(performance.now() - begun).toBeLessThan(30_000);
  });

  it('tells that a document needs too much memory', async () => {
    const content = '|a|b|\n|-|-|\n'.padEnd(200_000, '|x|y|\n');
    const writer = createFileWriter({ timeoutMs: 120_000, heapMiB: 40 });
    expect(await reasonOf(writer.write({ type: 'docx', name: 'a', content }))).toMatch(/^limit: .* too complex/);
  });

  it('refuses too much content', async () => {
    const content = 'x'.repeat(256 * 1024 + 1);
    expect(await reasonOf(createFileWriter().write({ type: 'text', name: 'a', content }))).toMatch(
      /^limit: .* 256 KiB/,
    );
  });

  it('refuses files when too many wait, and writes the others', async () => {
    const writer = createFileWriter({ timeoutMs: 60_000, maxWaiting: 1 });
    const written = [writer.write(PDF), writer.write(PDF)];
    expect(await reasonOf(writer.write(PDF))).toMatch(/^busy: /);
    expect((await Promise.all(written)).map(({ name }) => name)).toEqual(['Tea.pdf', 'Tea.pdf']);
    expect((await writer.write(PDF)).name).toBe('Tea.pdf');
  });

  it('stops when its signal aborts', async () => {
    const ending = new AbortController();
    const written = createFileWriter().write(PDF, { signal: ending.signal });
    ending.abort(new Error('stopped'));
    await expect(written).rejects.toThrow('stopped');
  });

  it('immediately releases a waiting caller when its signal aborts', async () => {
    const writer = createFileWriter({ timeoutMs: 60_000 });
    let isWritten = false;
    const first = writer.write(PDF).finally(() => (isWritten = true));
    const ending = new AbortController();
    const waiting = writer.write(PDF, { signal: ending.signal });
    ending.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    expect(isWritten).toBe(false);
    await first;
  });
});
