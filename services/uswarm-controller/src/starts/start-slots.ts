interface Slot {
  since: number;
  /** This leader admitted it; otherwise the slot comes from its status. */
  admitted: boolean;
  /** Its status is Starting. */
  shown: boolean;
}

export interface StartSlotsOptions {
  /** Milliseconds after which a slot expires. */
  slotMs: number;
  /** Milliseconds on a monotonic clock. */
  elapsed: () => number;
}

/** The start limiter's slots with their holders. */
export class StartSlots {
  /** In the order of acquisition, which is also the order of expiry. */
  readonly #slots = new Map<string, Slot>();
  /** Holders whose slot expired. They get no slot while they stay in Starting. */
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

  /** Assigns a slot to an admitted runtime. */
  admit(key: string): void {
    this.#overdue.delete(key);
    this.#slots.set(key, { since: this.#options.elapsed(), admitted: true, shown: false });
  }

  /** Its status is Starting. `isStart` is false for a runtime that was Ready before, which takes no slot. */
  show(key: string, isStart: boolean): void {
    const slot = this.#slots.get(key);
    if (slot !== undefined) slot.shown = true;
    else if (isStart && !this.#overdue.has(key)) {
      this.#slots.set(key, { since: this.#options.elapsed(), admitted: false, shown: true });
    }
  }

  /** Its status is not Starting yet. An admitted runtime keeps its slot. */
  hide(key: string): void {
    this.#overdue.delete(key);
    const slot = this.#slots.get(key);
    if (slot?.shown !== true) return;
    slot.shown = false;
    if (!slot.admitted) this.#slots.delete(key);
  }

  /** Its start has ended. */
  end(key: string): void {
    this.#overdue.delete(key);
    this.#slots.delete(key);
  }

  /** @returns whether it held a slot */
  release(key: string): boolean {
    return this.#slots.delete(key);
  }

  /** Frees expired slots. */
  expire(): void {
    const oldest = this.#options.elapsed() - this.#options.slotMs;
    for (const [key, { since, shown }] of this.#slots) {
      if (since > oldest) return;
      this.#slots.delete(key);
      if (shown) this.#overdue.add(key);
    }
  }

  /** Keeps only the slots that come from a status. */
  reset(): void {
    for (const [key, slot] of this.#slots) {
      slot.admitted = false;
      if (!slot.shown) this.#slots.delete(key);
    }
  }
}
