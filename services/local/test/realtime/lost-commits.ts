/** A time, by `performance.now()`. */
export interface Interval {
  from: number;
  to: number;
}

/** True if a commit in this time can be in one of the times in which commits were lost. */
export function canBeLost(request: Interval, lost: readonly Interval[]): boolean {
  return lost.some(({ from, to }) => request.from <= to && request.to >= from);
}
