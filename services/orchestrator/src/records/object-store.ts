import type { Readable } from 'node:stream';

/** The positions of the first and the last byte of a part, both inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Stores the bytes of uploads in S3 or in a folder. Every error except `ObjectMissing` is retryable. */
export interface ObjectStore {
  /**
   * Stores a stream. If the stream or the store fails, the partial object is deleted; if that fails too, call `remove`.
   */
  put(key: string, content: Readable): Promise<void>;
  /** @throws ObjectMissing */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /** Deletes the object and the parts of an unfinished `put`. Succeeds if there are none. */
  remove(key: string): Promise<void>;
  close(): void;
}

export class ObjectMissing extends Error {
  override name = 'ObjectMissing';
}
