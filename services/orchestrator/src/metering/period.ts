/** Month in UTC, such as `2026-11`. */
export function periodOf(now: Date): string {
  return now.toISOString().slice(0, 7);
}

/** In UTC. */
export function nextPeriodAt(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
}
