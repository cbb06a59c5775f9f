export interface RateLimit {
  /** Sustained rate; 0 disables the limit. */
  perSecond: number;
  /** Events that may arrive together. */
  burst: number;
}

/**
 * Takes tokens, by default one, and returns 0, or returns the milliseconds after which a retry can succeed. Callers that
 * are refused together get different times: otherwise all of them would retry together, and all but one without effect.
 */
export type TokenBucket = (cost?: number) => number;

/** A client that ignores retry times must not wait longer when it begins to respect them. */
const MAX_RETRY_MS = 30_000;

/** @param now monotonic milliseconds */
export function createTokenBucket({ perSecond, burst }: RateLimit, now: () => number): TokenBucket {
  if (perSecond === 0) return () => 0;
  let tokens = burst;
  let at = now();
  /** The last retry time that was returned. */
  let promisedAt = Number.NEGATIVE_INFINITY;
  return (cost = 1) => {
    const time = now();
    tokens = Math.min(burst, tokens + ((time - at) / 1_000) * perSecond);
    at = time;
    if (tokens >= cost) {
      tokens -= cost;
      return 0;
    }
    const freeAt = time + ((cost - tokens) / perSecond) * 1_000;
    promisedAt = Math.max(freeAt, promisedAt + (cost / perSecond) * 1_000);
    return Math.min(MAX_RETRY_MS, Math.ceil(promisedAt - time));
  };
}
