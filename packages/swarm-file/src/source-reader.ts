import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { callbackify } from 'node:util';
import { RandomAccessReader } from 'yauzl';

/** Where the bytes of a file are, such as an object store. */
export interface Source {
  size: number;
  /** Both positions are inclusive. */
  open(range: { start: number; end: number }): Promise<Readable>;
}

/** The source failed; the file can be valid. */
class SourceError extends Error {
  override name = 'SourceError';
}

/** True if the file could not be read, so that another attempt can succeed. */
export const isOfSource = (error: unknown): boolean =>
  error instanceof SourceError || (error instanceof Error && 'syscall' in error);

/** The directory is read in small parts, most of them one after the other. */
const BLOCK_BYTES = 256 * 1024;

export class SourceReader extends RandomAccessReader {
  readonly #source: Source;
  #block = { start: 0, bytes: Buffer.alloc(0) };

  constructor(source: Source) {
    super();
    this.#source = source;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#stream(start, end), { objectMode: false });
  }

  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    callbackify(async () => {
      for (let done = 0; done < length;) {
        const part = await this.#part(position + done, length - done);
        if (part.length === 0) throw new Error('unexpected EOF');
        target.set(part, offset + done);
        done += part.length;
      }
    })(callback);
  }

  override close(callback: (error: Error | null) => void): void {
    callback(null);
  }

  async *#stream(start: number, end: number): AsyncGenerator<Buffer> {
    if (end <= start) return;
    try {
      yield* (await this.#source.open({ start, end: end - 1 })) as AsyncIterable<Buffer>;
    } catch (cause) {
      throw new SourceError('the file cannot be read', { cause });
    }
  }

  async #part(position: number, length: number): Promise<Buffer> {
    const at = position - this.#block.start;
    if (at < 0 || at >= this.#block.bytes.length) {
      const start = Math.max(0, Math.min(position, this.#source.size - BLOCK_BYTES));
      const end = Math.min(start + BLOCK_BYTES, this.#source.size);
      this.#block = { start, bytes: await buffer(Readable.from(this.#stream(start, end))) };
    }
    return this.#block.bytes.subarray(position - this.#block.start).subarray(0, length);
  }
}
