interface Slot {
  since: number;
  /** We let it start; else the slot is only what its status says. */
  admitted: boolean;
  /** Its status says Starting. */
  shown: boolean;
}

export interface StartSlotsOptions {
  /** Milliseconds after which a slot expires. */
  slotMs: number;
  /** Milliseconds on a monotonic clock. */
  elapsed: () => number;
}

/** Who holds a slot of the start limiter, and since when. */
export class StartSlots {
  /** In the order in which they were taken, which is the order in which they expire. */
  readonly #slots = new Map<string, Slot>();
  /** Slots of these expired; they hold none as long as they stay in Starting. */
  readonly #overdue = new Set<string>();
  readonly #options: StartSlotsOptions;

  constructor(options: StartSlotsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#slots.size;
  }

  has(key: string): boolean {
    return this.#slots.has(key);
  }

  /** For one that is let in. */
  admit(key: string): void {
    this.#overdue.delete(key);
    this.#slots.set(key, { since: this.#options.elapsed(), admitted: true, shown: false });
  }

  /** Its status says Starting. `isStart` is false for one that was Ready before, which takes no slot. */
  show(key: string, isStart: boolean): void {
    const slot = this.#slots.get(key);
    if (slot !== undefined) slot.shown = true;
    else if (isStart && !this.#overdue.has(key)) {
      this.#slots.set(key, { since: this.#options.elapsed(), admitted: false, shown: true });
    }
  }

  /** Its status says that it has not begun to start. One that was let in keeps its slot. */
  hide(key: string): void {
    this.#overdue.delete(key);
    const slot = this.#slots.get(key);
    if (slot?.shown !== true) return;
    slot.shown = false;
    if (!slot.admitted) this.#slots.delete(key);
  }

  /** It no longer starts. */
  end(key: string): void {
    this.#overdue.delete(key);
    this.#slots.delete(key);
  }

  /** @returns whether it held one */
  release(key: string): boolean {
    return this.#slots.delete(key);
  }

  /** Frees the slots that were held too long. */
  expire(): void {
    const oldest = this.#options.elapsed() - this.#options.slotMs;
    for (const [key, { since, shown }] of this.#slots) {
      if (since > oldest) return;
      this.#slots.delete(key);
      if (shown) this.#overdue.add(key);
    }
  }

  /** Keeps only what statuses say. */
  reset(): void {
    for (const [key, slot] of this.#slots) {
      slot.admitted = false;
      if (!slot.shown) this.#slots.delete(key);
    }
  }
}
