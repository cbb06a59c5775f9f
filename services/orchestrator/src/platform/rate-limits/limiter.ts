import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, RLWrapperTimeouts } from 'rate-limiter-flexible';
import type { RatePolicy } from './policies.js';
import type { RateLimitRedis } from './rate-limit-redis.js';

export interface Quota {
  policy: RatePolicy;
  allowed: boolean;
  remaining: number;
  /** Milliseconds until the full burst is available again. */
  resetMs: number;
}

/** Counts one request for the key. Never rejects. */
export type Limiter = (key: string) => Promise<Quota>;

/** Redis timeout in ms. It is short: a fast response matters more than an exact count. */
const REDIS_DEADLINE_MS = 100;

/** Counts in Redis for all replicas, or locally if Redis is not configured or unavailable. */
export function createLimiter(
  policy: RatePolicy,
  redis?: RateLimitRedis,
  redisDeadlineMs = REDIS_DEADLINE_MS,
): Limiter {
  const options = { keyPrefix: `uswarm:rate:${policy.name}`, points: policy.burst, duration: policy.windowS };
  const own = new RateLimiterMemory(options);
  const shared = redis === undefined ? undefined : createShared(options, redis, redisDeadlineMs);
  const quota = (allowed: boolean, { remainingPoints, msBeforeNext }: RateLimiterRes): Quota => ({
    policy,
    allowed,
    remaining: remainingPoints,
    resetMs: msBeforeNext,
  });

  async function count(limiter: RLWrapperTimeouts | RateLimiterMemory, key: string): Promise<Quota> {
    try {
      return quota(true, await limiter.consume(key));
    } catch (outcome) {
      if (outcome instanceof RateLimiterRes) return quota(false, outcome);
      throw outcome;
    }
  }

  return async (key) => {
    if (shared !== undefined && redis?.usable() === true) {
      try {
        const counted = await count(shared, key);
        redis.worked();
        return counted;
      } catch (error) {
        redis.failed(error);
      }
    }
    return count(own, key);
  };
}

function createShared(
  options: { keyPrefix: string; points: number; duration: number },
  { client }: RateLimitRedis,
  timeoutMs: number,
): RLWrapperTimeouts {
  const limiter = new RateLimiterRedis({
    ...options,
    storeClient: client,
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
    // Rejected keys are rejected locally until the window ends, so that a flood does not reach Redis.
    inMemoryBlockOnConsumed: options.points + 1,
  });
  return new RLWrapperTimeouts({ limiter, timeoutMs });
}
