import { Readable } from 'node:stream';
import type { ObjectStore } from './object-store.js';

/** Stores a stream of unknown size. @returns its bytes @throws the stream's error, or the store's */
export async function putCounted(
  objects: Pick<ObjectStore, 'put'>,
  key: string,
  chunks: AsyncIterable<Buffer>,
): Promise<number> {
  let size = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      size += chunk.length;
      yield chunk;
    }
  }
  await objects.put(key, Readable.from(counted(), { objectMode: false }));
  return size;
}
