import type { Readable } from 'node:stream';

/** Both positions are inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Stores upload bytes in S3 or in a folder. Every error except `ObjectMissing` is retryable. */
export interface ObjectStore {
  /** If the stream or the store fails, the partial object is deleted; if that fails too, call `remove`. */
  put(key: string, content: Readable): Promise<void>;
  /** @throws ObjectMissing */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /** Deletes the object and any parts from an unfinished `put`. Succeeds if there are none. */
  remove(key: string): Promise<void>;
  close(): void;
}

export class ObjectMissing extends Error {
  override name = 'ObjectMissing';
}
