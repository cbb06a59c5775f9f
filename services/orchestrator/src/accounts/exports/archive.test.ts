import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { strFromU8, unzipSync } from 'fflate';
import { type ArchiveEntry, createArchive } from './archive.js';

const NOW = new Date('2026-11-20T08:30:00Z');
const never = new AbortController().signal;
const entry = (path: string, open: ArchiveEntry['open'], compress = true): ArchiveEntry => ({ path, compress, open });
const bytes = (text: string): Readable => Readable.from([Buffer.from(text)], { objectMode: false });

describe('an archive', () => {
  it('contains each entry under its path, in any script, compressed or not, also if it is empty', async () => {
    const texts = { 'README.txt': 'read me', 'files/1/報告 📄.txt': 'häus', 'empty.ndjson': '' };
    const entries = Object.entries(texts).map(([path, text], n) => entry(path, async () => bytes(text), n % 2 === 0));
    const unzipped = unzipSync(await buffer(createArchive(entries, NOW, never)));
    expect(Object.fromEntries(Object.entries(unzipped).map(([path, data]) => [path, strFromU8(data)]))).toEqual(texts);
  });

  it('opens an entry only after the previous one is consumed', async () => {
    const log: string[] = [];
    const entries = ['a', 'b', 'c'].map((name) =>
      entry(name, async () => {
        log.push(`open ${name}`);
        return bytes(name).once('end', () => void log.push(`end ${name}`));
      }),
    );
    await buffer(createArchive(entries, NOW, never));
    expect(log).toEqual(['a', 'b', 'c'].flatMap((name) => [`open ${name}`, `end ${name}`]));
  });

  it.each<[string, ArchiveEntry['open']]>([
    ['cannot be opened', () => Promise.reject(new Error('the store is unavailable'))],
    [
      'breaks off',
      async () =>
        new Readable({
          read() {
            this.push('x');
            this.destroy(new Error('the store is unavailable'));
          },
        }),
    ],
  ])('fails if an entry %s', async (_how, open) => {
    const archive = createArchive([entry('a', async () => bytes('a')), entry('b', open)], NOW, never);
    await expect(buffer(archive)).rejects.toThrow('the store is unavailable');
  });

  it('ends when the signal is aborted, and closes the open entry', async () => {
    const stop = new AbortController();
    const endless = new Readable({ read: () => undefined });
    endless.push('begun');
    const archive = createArchive([entry('a', async () => endless)], NOW, stop.signal);
    const read = buffer(archive);
    endless.once('resume', () => stop.abort(new Error('lease lost')));
    await expect(read).rejects.toThrow('lease lost');
    expect(endless.destroyed).toBe(true);
  });
});
