/** A clock that only `advance` moves. */
export interface ManualClock {
  now(): Date;
  /** Milliseconds since the start. */
  elapsed(): number;
  advance(milliseconds: number): void;
}

export function createManualClock(start = new Date('2030-01-01T00:00:00Z')): ManualClock {
  let elapsed = 0;
  return {
    now: () => new Date(start.getTime() + elapsed),
    elapsed: () => elapsed,
    advance(milliseconds) {
      elapsed += milliseconds;
    },
  };
}
