import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import fc from 'fast-check';
import { aac, flac, m4a, mp3, mp4, ogg, wav, webm } from '@uswarm/testkit/media-files';
import { attachmentType, sniffMediaType, SNIFFED_BYTES } from './file-kind.js';
import { createMediaDuration } from './media-duration.js';
import type { ByteRange, ObjectStore } from './object-store.js';

const KINDS = { wav, mp3, aac, flac, ogg, mp4, m4a, webm };
const HIGHEST = 2 ** 31 - 1;

/** A store with one object. */
function storeOf(content: Buffer) {
  let readBytes = 0;
  const open: ObjectStore['open'] = (_key, { start, end }: ByteRange = { start: 0, end: content.length - 1 }) => {
    readBytes += end - start + 1;
    return Promise.resolve(Readable.from([content.subarray(start, end + 1)], { objectMode: false }));
  };
  return { open, readBytes: () => readBytes };
}

interface Measured {
  mimeType?: string;
  open?: ObjectStore['open'];
  size?: number;
  timeoutMs?: number;
}

async function durationOf(content: Buffer, { mimeType, open, size, timeoutMs = 60_000 }: Measured = {}) {
  const mime_type = mimeType ?? (await sniffMediaType(content.subarray(0, SNIFFED_BYTES)));
  const objects = { open: open ?? storeOf(content).open };
  const measure = createMediaDuration({ objects, logger: silentLogger, timeoutMs });
  const file = { id: 'a', name: 'a', type: attachmentType(mime_type), mime_type, size: size ?? content.length };
  return measure(file);
}

/** A chunk that states this length. */
function wavWithChunk(name: string, length: number): Buffer {
  const chunk = Buffer.alloc(8);
  chunk.write(name, 'latin1');
  chunk.writeUInt32LE(length, 4);
  return Buffer.concat([wav(1).subarray(0, 12), chunk, wav(1).subarray(12)]);
}

describe('the duration of a file', () => {
  it.each(Object.entries(KINDS))('RES-060 is read from %s in whole seconds', async (_kind, file) => {
    expect([await durationOf(file(7.3)), await durationOf(file(61.7))]).toEqual([7, 62]);
  });

  it.each([
    ['a picture', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['a text', Buffer.from('not a film')],
    ['an empty file', Buffer.alloc(0)],
  ])('RES-060 is null for %s, which is not read', async (_what, content) => {
    const store = storeOf(content);
    expect(await durationOf(content, { open: store.open })).toBeNull();
    expect(store.readBytes()).toBe(0);
  });

  it.each(Object.entries(KINDS))(
    'RES-060 is null for a %s file that is cut off after its type',
    async (_kind, file) => {
      const whole = file(30);
      const mimeType = await sniffMediaType(whole.subarray(0, SNIFFED_BYTES));
      expect(await durationOf(whole.subarray(0, 12), { mimeType })).toBeNull();
    },
  );

  it('RES-060 is null for media that the parser does not know', async () => {
    expect(await durationOf(Buffer.from('#!AMR\n'.padEnd(200, '\0')), { mimeType: 'audio/amr' })).toBeNull();
  });

  it('is null if the store has fewer bytes than the row states', async () => {
    const content = mp3(2).subarray(0, 4_000);
    expect(await durationOf(content, { mimeType: 'audio/mpeg', size: 90_000 })).toBeNull();
  });

  it('is null if the store fails', async () => {
    const open = () => Promise.reject(new Error('no connection'));
    expect(await durationOf(wav(1), { open })).toBeNull();
  });

  it('is null after a time limit, even if the store does not answer', async () => {
    const open = () => new Promise<never>(() => undefined);
    expect(await durationOf(wav(1), { open, timeoutMs: 10 })).toBeNull();
  });

  it('reads the header and the end of a large file, but not all of it', async () => {
    const content = Buffer.concat([wav(600), Buffer.alloc(3_000_000)]);
    const store = storeOf(content);
    expect(await durationOf(content, { open: store.open })).toBe(600);
    expect(store.readBytes()).toBeLessThan(1_000_000);
  });

  it.each([
    ['longer than the file', wavWithChunk('LIST', 0x7f_ff_ff_ff)],
    ['of 4 GB', wavWithChunk('LIST', 0xff_ff_ff_ff)],
    ['without bytes, many times', Buffer.concat(Array.from({ length: 200 }, () => wavWithChunk('junk', 0)))],
  ])('ends for a file with a part %s', async (_what, content) => {
    const seconds = await durationOf(content, { mimeType: 'audio/wav' });
    expect(seconds === null || seconds === 1).toBe(true);
  });

  it('is null or a 32-bit number of seconds for any changed file, and reading it ends', async () => {
    const files = await Promise.all(
      Object.values(KINDS).map(async (file) => {
        const content = file(0.5);
        return { content, mimeType: await sniffMediaType(content.subarray(0, SNIFFED_BYTES)) };
      }),
    );
    const change = fc.record({ at: fc.nat(400), byte: fc.oneof(fc.constantFrom(0, 0x7f, 0xff), fc.nat(255)) });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.array(change, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 2_000 }),
        async ({ content, mimeType }, changes, length) => {
          const changed = Buffer.from(content.subarray(0, Math.max(length, 16)));
          for (const { at, byte } of changes) if (at < changed.length) changed[at] = byte;
          const seconds = await durationOf(changed, { mimeType });
          if (seconds === null) return;
          expect(Number.isInteger(seconds)).toBe(true);
          expect(seconds).toBeGreaterThanOrEqual(0);
          expect(seconds).toBeLessThanOrEqual(HIGHEST);
        },
      ),
      { numRuns: 400 },
    );
  });
});
