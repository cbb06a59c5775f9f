import { GatewayError } from './gateway-error.js';

export interface WorkspaceLimits {
  /** Calls per workspace and minute, and the size of a burst. */
  perMinute: number;
  /** Concurrent calls per workspace. */
  concurrent: number;
}

export interface WorkspaceLimiter {
  /** Counts a call. @returns a function that ends it. @throws GatewayError `rate_limited` */
  begin(workspaceId: string): () => void;
}

interface Bucket {
  tokens: number;
  at: number;
  running: number;
}

/** Entries above which idle workspaces are removed. */
const SWEEP_ABOVE = 10_000;
/** A running call ends at an unknown time. */
const CONCURRENT_RETRY_S = 2;

/**
 * A token bucket and a concurrency limit per workspace, so that one workspace cannot use up the limits of the provider's
 * account. Counts per process.
 * @param now milliseconds of a monotonic clock
 */
export function createWorkspaceLimiter(
  { perMinute, concurrent }: WorkspaceLimits,
  now: () => number = () => performance.now(),
): WorkspaceLimiter {
  const buckets = new Map<string, Bucket>();
  const perMs = perMinute / 60_000;

  function refill(bucket: Bucket): Bucket {
    const at = now();
    bucket.tokens = Math.min(perMinute, bucket.tokens + (at - bucket.at) * perMs);
    bucket.at = at;
    return bucket;
  }

  function bucketOf(workspaceId: string): Bucket {
    const known = buckets.get(workspaceId);
    if (known !== undefined) return refill(known);
    if (buckets.size >= SWEEP_ABOVE) {
      for (const [id, bucket] of buckets) {
        if (bucket.running === 0 && refill(bucket).tokens === perMinute) buckets.delete(id);
      }
    }
    const fresh = { tokens: perMinute, at: now(), running: 0 };
    buckets.set(workspaceId, fresh);
    return fresh;
  }

  return {
    begin(workspaceId) {
      const bucket = bucketOf(workspaceId);
      if (bucket.running >= concurrent) {
        const message = `This workspace already runs ${concurrent} model calls.`;
        throw new GatewayError('rate_limited', message, { retryAfterS: CONCURRENT_RETRY_S });
      }
      if (bucket.tokens < 1) {
        const retryAfterS = Math.ceil((1 - bucket.tokens) / perMs / 1_000);
        throw new GatewayError('rate_limited', 'This workspace makes too many model calls.', { retryAfterS });
      }
      bucket.tokens -= 1;
      bucket.running += 1;
      return () => void (bucket.running -= 1);
    },
  };
}
