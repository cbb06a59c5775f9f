import { type FileReader, isProblem, type Picture } from '@uswarm/file-reader';
import type { ToolPart } from '@uswarm/mcp-client';
import { LRUCache } from 'lru-cache';
import type { ToolCall } from '../../turns/tools/platform-tool.js';

type Image = Extract<ToolPart, { type: 'image' }>;

/** Characters of base64, of about ten results with the most images. */
const KEPT = 64 * 1024 * 1024;
/** A stored result has room for these: more would be left out together. */
const PICTURE_BYTES = 3 * 1024 * 1024;

/**
 * Keeps a result's images until it is delivered, also if that happens again. They are not stored: after a restart they
 * are lost, because a call that changes something cannot be repeated.
 */
export interface ResultPictures {
  keep(call: ToolCall, images: readonly Image[]): void;
  /** Upright, small and without metadata; the bytes decide on the type. Images that cannot be read are left out. */
  read(call: ToolCall): Promise<Picture[]>;
}

export function createResultPictures(reader: Pick<FileReader, 'picture'>): ResultPictures {
  const kept = new LRUCache<string, readonly Image[]>({
    maxSize: KEPT,
    sizeCalculation: (images) => images.reduce((sum, { data }) => sum + data.length, 1),
  });
  const keyOf = ({ turnId, id }: ToolCall): string => `${turnId} ${id}`;

  async function readImage({ data, mediaType: type }: Image, { userId: owner, signal }: ToolCall): Promise<Picture[]> {
    const bytes = Buffer.from(data, 'base64');
    const picture = await reader.picture({ name: 'image', type, bytes, size: bytes.length, owner }, signal);
    return isProblem(picture) ? [] : [picture];
  }

  return {
    keep: (call, images) => void kept.set(keyOf(call), images),

    async read(call) {
      const pictures = (await Promise.all((kept.get(keyOf(call)) ?? []).map((image) => readImage(image, call)))).flat();
      let bytes = 0;
      return pictures.filter((picture) => (bytes += picture.bytes.length) <= PICTURE_BYTES);
    },
  };
}
