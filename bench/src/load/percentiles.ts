/** Latencies in milliseconds. */
export interface Latency {
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

/** The smallest sample that at least `percent` of all samples do not exceed (nearest rank). NaN without samples. */
export function percentile(sorted: readonly number[] | Float64Array, percent: number): number {
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

export function latencyOf(samples: readonly number[]): Latency {
  const sorted = Float64Array.from(samples).toSorted();
  const at = (percent: number): number => percentile(sorted, percent);
  return { p50: at(50), p95: at(95), p99: at(99), max: at(100) };
}

/** For an even number of values, the mean of the middle two. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [below, above] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return below === undefined || above === undefined ? Number.NaN : (below + above) / 2;
}
