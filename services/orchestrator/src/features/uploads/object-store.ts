import type { Readable } from 'node:stream';

/** The first and the last byte of a part of an object; both are in it. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Where the bytes of uploads are: S3, or a folder. Every failure but `ObjectMissing` means that it may work later. */
export interface ObjectStore {
  /**
   * Stores what the stream gives, chunk by chunk. When it rejects (the stream failed, the store did),
   * nothing is there under the key, unless the store could not even be told to drop it: see `remove`.
   */
  put(key: string, content: Readable): Promise<void>;
  /** @throws ObjectMissing */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /** Removes the object and whatever an unfinished `put` left of it; what is not there is removed already. */
  remove(key: string): Promise<void>;
  close(): void;
}

export class ObjectMissing extends Error {
  override name = 'ObjectMissing';
}
