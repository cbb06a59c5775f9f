/** Token buckets by key, for example by workspace. Counts per process. */
export interface TokenBuckets {
  /** Takes one of the key's tokens. @returns 0, or the milliseconds until the next token if there is none */
  take(key: string): number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Buckets above which full ones are removed, which changes nothing: a new bucket is full. */
const SWEEP_ABOVE = 10_000;

/**
 * @param perMinute tokens per minute, and the burst size
 * @param now monotonic milliseconds
 */
export function createTokenBuckets(perMinute: number, now: () => number = () => performance.now()): TokenBuckets {
  const buckets = new Map<string, Bucket>();
  const perMs = perMinute / 60_000;
  let sweepAbove = SWEEP_ABOVE;

  function refilled(bucket: Bucket): Bucket {
    const at = now();
    bucket.tokens = Math.min(perMinute, bucket.tokens + (at - bucket.at) * perMs);
    bucket.at = at;
    return bucket;
  }

  function sweep(): void {
    for (const [key, bucket] of buckets) if (refilled(bucket).tokens === perMinute) buckets.delete(key);
    // A sweep that removes little must not follow each new key.
    sweepAbove = Math.max(SWEEP_ABOVE, 2 * buckets.size);
  }

  function bucketOf(key: string): Bucket {
    const known = buckets.get(key);
    if (known !== undefined) return refilled(known);
    if (buckets.size >= sweepAbove) sweep();
    const fresh = { tokens: perMinute, at: now() };
    buckets.set(key, fresh);
    return fresh;
  }

  return {
    take(key) {
      const bucket = bucketOf(key);
      if (bucket.tokens < 1) return (1 - bucket.tokens) / perMs;
      bucket.tokens -= 1;
      return 0;
    },
  };
}
