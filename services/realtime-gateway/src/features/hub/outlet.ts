import type { Timers } from '../../timers.js';
import type { Frame } from './frame.js';

/** A socket's connection. */
export interface OutletConnection {
  /** Sends a packet. `flushed` is called when the system has taken it. */
  write(text: string, flushed?: () => void): void;
  /** Bytes that the client has not taken yet. */
  unflushedBytes(): number;
}

/** Something that a socket pulls from. */
export interface Source {
  /** The next packet; undefined if there is nothing at present. */
  next(): Frame | undefined;
}

export interface OutletOptions {
  /** A socket with more unflushed bytes gets nothing. */
  unflushedBytes: number;
  /** Milliseconds without progress after which `stalled` is called. */
  stallMs: number;
}

export interface OutletDeps {
  connection: OutletConnection;
  options: OutletOptions;
  timers: Timers;
  /** The client does not read. */
  stalled(): void;
}

/** Milliseconds between two looks at a socket that is full. */
const LOOK_MS = 250;

/** Pulls events from its sources, in turn, while the client reads. Nothing is queued for a client that does not. */
export class Outlet {
  readonly #deps: OutletDeps;
  /** Allocated by the first event. */
  #ready: Set<Source> | undefined;
  #isClosed = false;
  #isPumping = false;
  #cancelWatch: (() => void) | undefined;

  constructor(deps: OutletDeps) {
    this.#deps = deps;
  }

  /** The source may have something to send. */
  wake(source: Source): void {
    if (this.#isClosed) return;
    this.#ready ??= new Set();
    this.#ready.add(source);
    this.#pump(this.#ready);
  }

  remove(source: Source): void {
    this.#ready?.delete(source);
  }

  close(): void {
    this.#isClosed = true;
    this.#ready = undefined;
    this.#cancelWatch?.();
  }

  get #hasRoom(): boolean {
    return this.#deps.connection.unflushedBytes() < this.#deps.options.unflushedBytes;
  }

  #pump(ready: Set<Source>): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      for (const source of ready) {
        if (this.#isClosed) return;
        if (!this.#hasRoom) {
          this.#watch(ready);
          return;
        }
        ready.delete(source);
        const frame = source.next();
        if (frame === undefined) continue;
        // To the end, so that each source gets its turn.
        ready.add(source);
        this.#send(frame, ready);
      }
    } finally {
      this.#isPumping = false;
    }
  }

  #send({ text, bytes }: Frame, ready: Set<Source>): void {
    const { connection, options } = this.#deps;
    const fills = connection.unflushedBytes() + bytes >= options.unflushedBytes;
    if (fills) connection.write(text, () => this.#pump(ready));
    else connection.write(text);
  }

  /** Also continues where the connection does not call back, as after an upgrade of its transport. */
  #watch(ready: Set<Source>): void {
    if (this.#cancelWatch !== undefined) return;
    const { connection, options, timers, stalled } = this.#deps;
    let idleMs = 0;
    let least = connection.unflushedBytes();
    const look = (): void => {
      this.#cancelWatch = undefined;
      if (this.#isClosed || ready.size === 0) return;
      if (this.#hasRoom) {
        this.#pump(ready);
        return;
      }
      const bytes = connection.unflushedBytes();
      idleMs = bytes < least ? 0 : idleMs + LOOK_MS;
      least = Math.min(least, bytes);
      if (idleMs >= options.stallMs) stalled();
      else this.#cancelWatch = timers.after(LOOK_MS, look);
    };
    this.#cancelWatch = timers.after(LOOK_MS, look);
  }
}
