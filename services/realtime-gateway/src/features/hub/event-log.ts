import type { Frame } from './frame.js';

/** A workspace event by its sequence. Without a frame, clients need nothing for this sequence. */
export interface LogEntry {
  seq: number;
  subjectId?: string;
  frame?: Frame;
}

export interface EventLogLimits {
  /** Maximum number and bytes of kept events. */
  ringEvents: number;
  ringBytes: number;
}

/** Bytes per entry in memory beside its text. */
const ENTRY_BYTES = 120;
export const sizeOf = ({ frame }: LogEntry): number => ENTRY_BYTES + (frame?.bytes ?? 0);

/**
 * Orders a workspace's durable events. The position advances by one event after the other, never over a missing one.
 * The last events are kept in a ring.
 */
export class EventLog {
  readonly #limits: EventLogLimits;
  #position: number | undefined;
  /** The highest sequence that is known to exist. */
  #known = 0;
  #ring: LogEntry[] = [];
  #ringBytes = 0;
  /** Events after a missing one, with the ring's limits. */
  #ahead: Map<number, LogEntry> | undefined;
  #aheadBytes = 0;

  constructor(limits: EventLogLimits) {
    this.#limits = limits;
  }

  /** The last sequence in order; undefined before `start`. */
  get position(): number | undefined {
    return this.#position;
  }

  get bytes(): number {
    return this.#ringBytes + this.#aheadBytes;
  }

  /** True if an event that exists is missing. */
  get behind(): boolean {
    return this.#position !== undefined && this.#known > this.#position;
  }

  /** Continues after `position`. @returns the entries that are in order, and those up to `position`, which are not kept */
  start(position: number): LogEntry[] {
    this.#position = position;
    this.#known = Math.max(this.#known, position);
    const passed = [...(this.#ahead?.values() ?? [])].filter(({ seq }) => seq <= position);
    return [...passed, ...this.#drain()];
  }

  /** Forgets everything and continues after `position`. */
  reset(position: number): void {
    this.#position = position;
    this.#known = position;
    this.dropRing();
    this.#ahead = undefined;
    this.#aheadBytes = 0;
  }

  /** Records that a sequence exists. */
  note(seq: number): void {
    this.#known = Math.max(this.#known, seq);
  }

  /** The highest sequence that is known to exist. */
  get known(): number {
    return this.#known;
  }

  /** The log ended at `head` when `known` was the highest sequence: what was beyond it does not exist. */
  confirmHead(head: number, known: number): void {
    if (this.#known === known && known > head) {
      this.#known = Math.max(head, this.#position ?? 0);
      this.#dropAhead((seq) => seq > head);
    } else this.note(head);
  }

  /** @returns the entries that are now in order */
  add(entry: LogEntry): LogEntry[] {
    this.note(entry.seq);
    if (this.#position !== undefined && entry.seq <= this.#position) return [];
    if (this.#position !== undefined && entry.seq === this.#position + 1) {
      this.#append(entry);
      return [entry, ...this.#drain()];
    }
    this.#keepAhead(entry);
    return [];
  }

  /** Forgets the events after a missing one, which are then read from where the others are. */
  forgetAhead(): void {
    this.#dropAhead(() => true);
  }

  /** Undefined if the ring does not have the event. */
  entry(seq: number): LogEntry | undefined {
    const first = this.#ring[0];
    return first === undefined ? undefined : this.#ring[seq - first.seq];
  }

  dropRing(): void {
    this.#ring = [];
    this.#ringBytes = 0;
  }

  #append(entry: LogEntry): void {
    this.#position = entry.seq;
    this.#ring.push(entry);
    this.#ringBytes += sizeOf(entry);
    while (this.#ring.length > this.#limits.ringEvents || this.#ringBytes > this.#limits.ringBytes) {
      const oldest = this.#ring.shift();
      this.#ringBytes -= oldest === undefined ? 0 : sizeOf(oldest);
    }
  }

  #keepAhead(entry: LogEntry): void {
    this.#ahead ??= new Map();
    const full = this.#ahead.size >= this.#limits.ringEvents || this.#aheadBytes >= this.#limits.ringBytes;
    // The log has it.
    if (full || this.#ahead.has(entry.seq)) return;
    this.#ahead.set(entry.seq, entry);
    this.#aheadBytes += sizeOf(entry);
  }

  #drain(): LogEntry[] {
    if (this.#ahead === undefined || this.#position === undefined) return [];
    const drained: LogEntry[] = [];
    for (let next = this.#ahead.get(this.#position + 1); next !== undefined;) {
      this.#append(next);
      drained.push(next);
      next = this.#ahead.get(next.seq + 1);
    }
    const position = this.#position;
    this.#dropAhead((seq) => seq <= position);
    return drained;
  }

  #dropAhead(drop: (seq: number) => boolean): void {
    for (const [seq, entry] of this.#ahead ?? []) {
      if (!drop(seq)) continue;
      this.#ahead?.delete(seq);
      this.#aheadBytes -= sizeOf(entry);
    }
    if (this.#ahead?.size === 0) this.#ahead = undefined;
  }
}
