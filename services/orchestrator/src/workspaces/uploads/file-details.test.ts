import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import fc from 'fast-check';
import {
  aac,
  amr,
  caf,
  flac,
  m4a,
  matroskaRecording,
  mov,
  mp3,
  mp4,
  mp4Cover,
  mp4Sound,
  ogg,
  threeG2,
  threeGp,
  transportStream,
  wav,
  webm,
  webmVoice,
} from '@uswarm/testkit/media-files';
import { createFileDetails } from './file-details.js';
import { attachmentType, sniffMediaType, SNIFFED_BYTES } from './file-kind.js';
import type { ByteRange, ObjectStore } from '../../records/object-store.js';

const KINDS = { wav, mp3, aac, flac, ogg, mp4, m4a, webm, webmVoice, threeGp, threeG2, mov, mp4Sound, caf, amr };
const HIGHEST = 2 ** 31 - 1;

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

async function detailsOf(content: Buffer, { mimeType, open, size, timeoutMs = 60_000 }: Measured = {}) {
  const mime_type = mimeType ?? (await sniffMediaType(content.subarray(0, SNIFFED_BYTES)));
  const objects = { open: open ?? storeOf(content).open };
  const details = createFileDetails({ objects, logger: silentLogger, timeoutMs });
  return details({ id: 'a', name: 'a', type: attachmentType(mime_type), mime_type, size: size ?? content.length });
}

const durationOf = async (content: Buffer, measured?: Measured) => (await detailsOf(content, measured)).duration;

function wavWithChunk(name: string, length: number): Buffer {
  const chunk = Buffer.alloc(8);
  chunk.write(name, 'latin1');
  chunk.writeUInt32LE(length, 4);
  return Buffer.concat([wav(1).subarray(0, 12), chunk, wav(1).subarray(12)]);
}

describe('the type of a file with sound or pictures', () => {
  it.each([
    ['a recording of Chrome', webmVoice(2), 'audio/webm'],
    ['a recording of Safari or Android', mp4Sound(2), 'audio/mp4'],
    ['a memo of an old phone', threeGp(2), 'audio/3gpp'],
    ['a memo of an old phone in the USA', threeG2(2), 'audio/3gpp2'],
    ['QuickTime without pictures', mov(2), 'audio/quicktime'],
    ['Matroska without pictures', matroskaRecording(2, ['A_OPUS'], 'matroska'), 'audio/matroska'],
    ['Matroska with a cover', matroskaRecording(2, ['A_OPUS', 'V_MJPEG'], 'matroska'), 'audio/matroska'],
    ['a song with a cover', mp4Cover(2), 'audio/mp4'],
    ['a memo of iOS', caf(2), 'audio/x-caf'],
    ['AMR', amr(2), 'audio/amr'],
    ['a transport stream without pictures', transportStream(2, 0xc0), 'audio/mp2t'],
  ])('RES-060 is audio without a track of pictures: %s', async (_what, content, mimeType) => {
    expect(await detailsOf(content)).toMatchObject({ type: 'audio', mime_type: mimeType, duration: 2 });
  });

  it.each([
    ['MP4', mp4(2), 'video/mp4'],
    ['WebM', matroskaRecording(2, ['V_VP8']), 'video/webm'],
    ['WebM with sound', matroskaRecording(2, ['A_OPUS', 'V_VP8']), 'video/webm'],
    ['moving pictures without sound, each a JPEG', matroskaRecording(2, ['V_MJPEG'], 'matroska'), 'video/matroska'],
    ['QuickTime', mp4(2, 'qt  '), 'video/quicktime'],
    ['the old format of phones', mp4(2, '3gp4'), 'video/3gpp'],
    ['a transport stream', transportStream(2, 0xe0), 'video/mp2t'],
    ['pictures in a file that is named for sound', mp4(2, 'M4A '), 'video/mp4'],
  ])('RES-060 is video with such a track: %s', async (_what, content, mimeType) => {
    expect(await detailsOf(content)).toMatchObject({ type: 'video', mime_type: mimeType });
  });

  it('stays that of its beginning if it cannot be read', async () => {
    const open = () => Promise.reject(new Error('no connection'));
    const expected = { type: 'video', mime_type: 'video/webm', duration: null };
    expect(await detailsOf(webmVoice(2), { open })).toMatchObject(expected);
  });
});

describe('the duration of a file', () => {
  it.each(Object.entries(KINDS))('RES-060 is read from %s in whole seconds', async (_kind, file) => {
    expect([await durationOf(file(7.3)), await durationOf(file(61.7))]).toEqual([7, 62]);
  });

  it.each([
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
    expect(await durationOf(Buffer.alloc(200), { mimeType: 'audio/vnd.dolby.dd-raw' })).toBeNull();
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
