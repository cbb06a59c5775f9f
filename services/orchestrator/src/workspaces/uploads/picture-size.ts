import type { ObjectTokenizer } from './object-tokenizer.js';

export interface PictureSize {
  width: number;
  height: number;
}

/**
 * Bytes to read from the beginning, tried in order. Metadata can precede the size: a preview, a colour profile, an edit
 * history.
 */
const PARTS_BYTES = [128 * 1_024, 1_024 * 1_024];
const MAX_PIXELS = 2 ** 31 - 1;
/** EXIF orientations 5 to 8 turn a picture by a quarter. */
const FIRST_TURNED = 5;

/** Returns the displayed size. Rejects if the file's beginning does not contain it. */
export async function readPictureSize(tokenizer: ObjectTokenizer, fileBytes: number): Promise<PictureSize> {
  // Few processes receive pictures, so the first picture loads the library.
  const { imageSize } = await import('image-size');
  for (const bytes of PARTS_BYTES) {
    const head = Buffer.alloc(Math.min(bytes, fileBytes));
    await tokenizer.peekBuffer(head, { mayBeLess: true });
    try {
      return displayed(imageSize(head), head);
    } catch (error) {
      if (bytes >= fileBytes || bytes === PARTS_BYTES.at(-1)) throw error;
    }
  }
  throw new Error('the picture has no size');
}

interface StoredSize extends PictureSize {
  orientation?: number | undefined;
  type?: string | undefined;
}

function displayed({ width, height, orientation = 1, type }: StoredSize, head: Buffer): PictureSize {
  const isSize = [width, height].every((pixels) => Number.isInteger(pixels) && pixels > 0 && pixels <= MAX_PIXELS);
  if (!isSize) throw new Error('the picture has no valid size');
  const isTurned = orientation >= FIRST_TURNED || (isHeif(type) && isTurnedHeif(head));
  return isTurned ? { width: height, height: width } : { width, height };
}

const isHeif = (type: string | undefined): boolean => ['heic', 'heif', 'avif'].includes(type ?? '');

/**
 * The `irot` property turns a picture by quarters. Cameras set it for all picture parts alike; the library does not
 * read it.
 */
function isTurnedHeif(head: Buffer): boolean {
  const at = head.indexOf('irot');
  return at >= 0 && at + 4 < head.length && (head.readUInt8(at + 4) & 1) === 1;
}
