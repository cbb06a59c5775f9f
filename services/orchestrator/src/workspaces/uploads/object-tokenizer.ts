import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { AbstractTokenizer, EndOfStreamError, type IRandomAccessFileInfo, type IReadChunkOptions } from 'strtok3';
import type { ObjectStore } from '../../records/object-store.js';

const BLOCK_BYTES = 128 * 1_024;
/** Parsers alternate between a few places, so the last blocks stay in memory. */
const KEPT_BLOCKS = 4;
/** Maximum bytes per read: enough for the index of a film that lasts hours. */
const PART_BYTES = 2 * 1_024 * 1_024;
/** Above this size a part counts as large, because parsers keep its values in memory. */
const LARGE_PART_BYTES = 4_096;
const LARGE_PARTS_BYTES = 8 * 1_024 * 1_024;
/** Operations on blocks in memory do not yield to the event loop, so the tokenizer yields after this time. */
const PAUSE_AFTER_MS = 10;

export interface ObjectTokenizerDeps {
  objects: Pick<ObjectStore, 'open'>;
  key: string;
  fileInfo: IRandomAccessFileInfo;
  /** Maximum bytes read from the store in total. */
  maxBytes: number;
  /** Maximum parser operations. The parser may keep something for each. */
  maxOperations: number;
  signal: AbortSignal;
}

/** Lets a parser read parts of a stored object. Bounds memory, bytes and the time without a pause. */
export class ObjectTokenizer extends AbstractTokenizer {
  override fileInfo: IRandomAccessFileInfo;
  readonly #deps: ObjectTokenizerDeps;
  readonly #blocks = new Map<number, Buffer>();
  #operations = 0;
  #pausedAt = performance.now();
  #readBytes = 0;
  #largeBytes = 0;

  constructor(deps: ObjectTokenizerDeps) {
    super({ maxBufferSize: PART_BYTES });
    this.#deps = deps;
    this.fileInfo = deps.fileInfo;
  }

  override supportsRandomAccess(): boolean {
    return true;
  }

  setPosition(position: number): void {
    this.position = position;
  }

  override async ignore(length: number): Promise<number> {
    await this.#account();
    return super.ignore(length);
  }

  async readBuffer(target: Uint8Array, options?: IReadChunkOptions): Promise<number> {
    const { position } = this.normalizeOptions(target, options);
    const length = await this.peekBuffer(target, options);
    this.position = position + length;
    return length;
  }

  async peekBuffer(target: Uint8Array, options?: IReadChunkOptions): Promise<number> {
    await this.#account();
    const { position, length, mayBeLess } = this.normalizeOptions(target, options);
    const available = Math.max(0, Math.min(this.fileInfo.size - position, length));
    if (available < length && !mayBeLess) throw new EndOfStreamError();
    if (length > LARGE_PART_BYTES) this.#largeBytes += length;
    if (this.#largeBytes > LARGE_PARTS_BYTES) throw new Error('the parser read too many large parts');
    for (let offset = 0; offset < available;) {
      const index = Math.floor((position + offset) / BLOCK_BYTES);
      const part = (await this.#block(index)).subarray(position + offset - index * BLOCK_BYTES);
      // The object is shorter than its row states.
      if (part.length === 0) throw new EndOfStreamError();
      const used = part.subarray(0, available - offset);
      target.set(used, offset);
      offset += used.length;
    }
    return available;
  }

  /** A file can make a parser repeat steps that need no read from the store. */
  async #account(): Promise<void> {
    this.#operations += 1;
    if (this.#operations > this.#deps.maxOperations) throw new Error('the parser did not end');
    if (performance.now() - this.#pausedAt > PAUSE_AFTER_MS) {
      await setImmediate();
      this.#pausedAt = performance.now();
    }
    this.#deps.signal.throwIfAborted();
  }

  async #block(index: number): Promise<Buffer> {
    const block = this.#blocks.get(index) ?? (await this.#read(index * BLOCK_BYTES));
    // Delete first: a map keeps insertion order, and the first entry is evicted next.
    this.#blocks.delete(index);
    this.#blocks.set(index, block);
    if (this.#blocks.size > KEPT_BLOCKS) this.#blocks.delete(this.#blocks.keys().next().value ?? 0);
    return block;
  }

  async #read(start: number): Promise<Buffer> {
    const { objects, key, maxBytes, signal } = this.#deps;
    const end = Math.min(start + BLOCK_BYTES, this.fileInfo.size) - 1;
    this.#readBytes += end - start + 1;
    if (this.#readBytes > maxBytes) throw new Error('the parser read too many bytes');
    return buffer(addAbortSignal(signal, await objects.open(key, { start, end })));
  }
}
