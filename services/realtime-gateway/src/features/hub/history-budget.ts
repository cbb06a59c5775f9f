/** Keeps events in memory. */
export interface HistoryOwner {
  readonly historyBytes: number;
  dropHistory(): void;
}

/** Limits the events that all hubs keep together: the history that was used least recently is dropped first. */
export class HistoryBudget {
  readonly #limit: number;
  /** By last use, with the counted bytes. */
  readonly #owners = new Map<HistoryOwner, number>();
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The owner's history was used or has changed. */
  used(owner: HistoryOwner): void {
    this.remove(owner);
    const { historyBytes } = owner;
    if (historyBytes === 0) return;
    this.#owners.set(owner, historyBytes);
    this.#bytes += historyBytes;
    for (const other of this.#owners.keys()) {
      if (this.#bytes <= this.#limit || other === owner) return;
      other.dropHistory();
      this.remove(other);
    }
  }

  remove(owner: HistoryOwner): void {
    this.#bytes -= this.#owners.get(owner) ?? 0;
    this.#owners.delete(owner);
  }
}
