export interface RateLimit {
  /** Sustained rate; 0 disables the limit. */
  perSecond: number;
  /** Events that may arrive together. */
  burst: number;
}

/** Takes a token and returns 0, or returns the milliseconds until a token is available. */
export type TokenBucket = () => number;

/** @param now monotonic milliseconds */
export function createTokenBucket({ perSecond, burst }: RateLimit, now: () => number): TokenBucket {
  if (perSecond === 0) return () => 0;
  let tokens = burst;
  let at = now();
  return () => {
    const time = now();
    tokens = Math.min(burst, tokens + ((time - at) / 1_000) * perSecond);
    at = time;
    if (tokens < 1) return Math.ceil(((1 - tokens) / perSecond) * 1_000);
    tokens -= 1;
    return 0;
  };
}
