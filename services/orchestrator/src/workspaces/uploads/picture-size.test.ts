import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createFileDetails } from './file-details.js';
import { attachmentType, sniffMediaType, SNIFFED_BYTES } from './file-kind.js';

const bytes = (...parts: (string | Buffer | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));
const u16 = (value: number): number[] => [value >> 8, value & 255];
const u32 = (value: number): number[] => [...u16(value >>> 16), ...u16(value & 0xffff)];
const le16 = (value: number): number[] => u16(value).toReversed();
const le24 = (value: number): number[] => [value & 255, (value >> 8) & 255, value >> 16];

const png = (width: number, height: number): Buffer =>
  bytes([0x89], 'PNG\r\n\x1a\n', u32(13), 'IHDR', u32(width), u32(height), [8, 6, 0, 0, 0], u32(0), u32(0), 'IDAT');
const gif = (width: number, height: number): Buffer => bytes('GIF89a', le16(width), le16(height), [0, 0, 0]);
const webp = (width: number, height: number): Buffer =>
  bytes('RIFF', [30, 0, 0, 0], 'WEBPVP8X', [10, 0, 0, 0], [0, 0, 0, 0], le24(width - 1), le24(height - 1));

const segment = (marker: number, content: Buffer): Buffer => bytes([0xff, marker], u16(content.length + 2), content);
/** @param orientation EXIF value; cameras that are held upright write 6 */
const exif = (orientation: number): Buffer =>
  segment(
    0xe1,
    bytes('Exif\0\0MM', u16(42), u32(8), u16(1), u16(274), u16(3), u32(1), u16(orientation), u16(0), u32(0)),
  );
const jpeg = (width: number, height: number, ...before: Buffer[]): Buffer =>
  bytes([0xff, 0xd8], ...before, segment(0xc0, bytes([8], u16(height), u16(width), [1, 1, 0x11, 0])), [0xff, 0xd9]);

const box = (type: string, ...content: (Buffer | number[])[]): Buffer => {
  const inside = bytes(...content);
  return bytes(u32(inside.length + 8), type, inside);
};
const heic = (width: number, height: number, quarters: number): Buffer =>
  bytes(
    box('ftyp', bytes('heic'), u32(0), bytes('mif1heic')),
    box(
      'meta',
      u32(0),
      box('iprp', box('ipco', box('ispe', u32(0), u32(width), u32(height)), box('irot', [quarters]))),
    ),
  );

async function sizeOf(content: Buffer) {
  const open = (_key: string, { start, end } = { start: 0, end: content.length - 1 }) =>
    Promise.resolve(Readable.from([content.subarray(start, end + 1)], { objectMode: false }));
  const mime_type = await sniffMediaType(content.subarray(0, SNIFFED_BYTES));
  const details = createFileDetails({ objects: { open }, logger: silentLogger });
  const file = { id: 'a', name: 'a', type: attachmentType(mime_type), mime_type, size: content.length };
  const { width, height } = await details(file);
  return { mime_type, width, height };
}

describe('the size of a picture', () => {
  it.each([
    ['PNG', png(640, 480), 'image/png'],
    ['GIF', gif(640, 480), 'image/gif'],
    ['WebP', webp(640, 480), 'image/webp'],
    ['JPEG', jpeg(640, 480, segment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1'))), 'image/jpeg'],
    ['JPEG with an upright orientation', jpeg(640, 480, exif(1)), 'image/jpeg'],
    ['HEIC', heic(640, 480, 0), 'image/heic'],
    ['HEIC that is turned by a half', heic(640, 480, 2), 'image/heic'],
  ])('is read from the header of %s', async (_what, content, mime_type) => {
    expect(await sizeOf(content)).toEqual({ mime_type, width: 640, height: 480 });
  });

  it.each([
    ['JPEG', jpeg(640, 480, exif(6))],
    ['JPEG, to the other side', jpeg(640, 480, exif(8))],
    ['HEIC', heic(640, 480, 1)],
  ])('is that of the displayed picture if the camera was turned: %s', async (_what, content) => {
    expect(await sizeOf(content)).toMatchObject({ width: 480, height: 640 });
  });

  it('is found behind half a megabyte of metadata', async () => {
    const metadata = Array.from({ length: 9 }, () => segment(0xe2, Buffer.alloc(60_000, 1)));
    expect(await sizeOf(jpeg(640, 480, exif(1), ...metadata))).toMatchObject({ width: 640, height: 480 });
  });

  it.each([
    ['is cut off in its header', png(640, 480).subarray(0, 18)],
    ['has no pixels', png(0, 480)],
    ['states more pixels than a picture can have', png(2 ** 31, 480)],
    ['has no size in its first megabyte', bytes([0xff, 0xd8, 0xff, 0xe0], Buffer.alloc(1_200_000, 7))],
  ])('is null for a picture that %s', async (_what, content) => {
    expect(await sizeOf(content)).toMatchObject({ width: null, height: null });
  });

  it('is null for a text', async () => {
    expect(await sizeOf(Buffer.from('not a picture'))).toEqual({ mime_type: 'text/plain', width: null, height: null });
  });
});
