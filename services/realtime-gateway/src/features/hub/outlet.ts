import type { Timers } from '../../timers.js';
import type { Frame } from './frame.js';

/** The connection of a socket. */
export interface OutletConnection {
  /** Sends a packet. `flushed` is called when the system has taken it. */
  write(text: string, flushed?: () => void): void;
  /** Bytes that the client has not taken yet. */
  unflushedBytes(): number;
}

/** Something that a socket pulls from. */
export interface Source {
  /** What is sent next; undefined if there is nothing at present. */
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

export interface Outlet {
  /** The source may have something to send. */
  wake(source: Source): void;
  remove(source: Source): void;
  close(): void;
}

/** Milliseconds between two looks at a socket that is full. */
const LOOK_MS = 250;

/** Pulls events from its sources, in turn, while the client reads. Nothing is queued for a client that does not. */
export function createOutlet({ connection, options, timers, stalled }: OutletDeps): Outlet {
  const ready = new Set<Source>();
  let closed = false;
  let isPumping = false;
  let cancelWatch: (() => void) | undefined;

  const hasRoom = (): boolean => connection.unflushedBytes() < options.unflushedBytes;

  function pump(): void {
    if (isPumping) return;
    isPumping = true;
    try {
      for (const source of ready) {
        if (closed) return;
        if (!hasRoom()) {
          watch();
          return;
        }
        ready.delete(source);
        const frame = source.next();
        if (frame === undefined) continue;
        // To the end, so that each source gets its turn.
        ready.add(source);
        send(frame);
      }
    } finally {
      isPumping = false;
    }
  }

  function send({ text, bytes }: Frame): void {
    const fills = connection.unflushedBytes() + bytes >= options.unflushedBytes;
    if (fills) connection.write(text, pump);
    else connection.write(text);
  }

  /** Also continues where the connection does not call back, as after an upgrade of its transport. */
  function watch(): void {
    if (cancelWatch !== undefined) return;
    let idleMs = 0;
    let least = connection.unflushedBytes();
    const look = (): void => {
      cancelWatch = undefined;
      if (closed || ready.size === 0) return;
      if (hasRoom()) {
        pump();
        return;
      }
      const bytes = connection.unflushedBytes();
      idleMs = bytes < least ? 0 : idleMs + LOOK_MS;
      least = Math.min(least, bytes);
      if (idleMs >= options.stallMs) stalled();
      else cancelWatch = timers.after(LOOK_MS, look);
    };
    cancelWatch = timers.after(LOOK_MS, look);
  }

  return {
    wake(source) {
      if (closed) return;
      ready.add(source);
      pump();
    },
    remove: (source) => void ready.delete(source),
    close() {
      closed = true;
      ready.clear();
      cancelWatch?.();
    },
  };
}
