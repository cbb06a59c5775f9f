import type { Frame } from './frame.js';

/** An event that is only sent to clients that can receive it soon, such as `agent.tool`. */
export interface Notice {
  id: number;
  /** Sent only after this sequence. */
  afterSeq: number;
  frame: Frame;
}

const NOTICES = 64;
const BYTES = 64 * 1024;

/** The last events that are not part of a state. */
export class Notices {
  #notices: Notice[] = [];
  #bytes = 0;
  #lastId = 0;

  get lastId(): number {
    return this.#lastId;
  }

  add(frame: Frame, afterSeq: number): void {
    this.#lastId += 1;
    this.#notices.push({ id: this.#lastId, afterSeq, frame });
    this.#bytes += frame.bytes;
    while (this.#notices.length > NOTICES || this.#bytes > BYTES)
      this.#bytes -= this.#notices.shift()?.frame.bytes ?? 0;
  }

  /** The first notice after `id`, if a client at this position may have it. */
  next(id: number, position: number): Notice | undefined {
    const first = this.#notices[0];
    if (first === undefined || id >= this.#lastId) return undefined;
    const next = this.#notices[Math.max(0, id + 1 - first.id)];
    return next !== undefined && next.afterSeq <= position ? next : undefined;
  }

  clear(): void {
    this.#notices = [];
    this.#bytes = 0;
  }
}
