import { createHash } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import { addressKey, initializedCounter, type Logger, readGauge, type Registry } from '@uswarm/service-kit';
import type { Identity } from '../../accounts/auth/actor.js';
import { connectRateLimitRedis } from './rate-limit-redis.js';
import { createLimiter, type Quota } from './limiter.js';
import {
  healthPolicyOf,
  policiesOf,
  type RateName,
  type RatePolicy,
  type RateSettings,
  triggerPoliciesOf,
} from './policies.js';

/** Each method counts one request and returns undefined if the limit is not set. @throws ApiError `rate_limited` */
export interface RateLimits {
  policies: readonly RatePolicy[];
  /** Health checks do not count for other policies. */
  healthPolicies: readonly RatePolicy[];
  request(address: string): Promise<Quota | undefined>;
  health(address: string): Promise<Quota | undefined>;
  call(identity: Pick<Identity, 'issuer' | 'subject'>): Promise<Quota | undefined>;
  /** A socket event that causes a query. Counted like a request, but separately from REST requests. */
  socketCall(userId: string): Promise<Quota | undefined>;
  send(userId: string): Promise<Quota | undefined>;
  search(userId: string): Promise<Quota | undefined>;
  /** A request to a trigger's URL, which counts for the trigger and for its user. */
  trigger(triggerId: string, userId: string): Promise<void>;
  close(): void;
}

export interface RateLimitsDeps {
  config: RateSettings;
  /** Replicas share their counters in Redis. Without it, each replica counts locally. */
  redisUrl: string | undefined;
  /** Time limit in ms for a count in Redis. Default: 100 */
  redisDeadlineMs?: number;
  metrics: Registry;
  logger: Logger;
}

/** @throws ConfigError */
export function createRateLimits({ config, redisUrl, redisDeadlineMs, metrics, logger }: RateLimitsDeps): RateLimits {
  const policies = policiesOf(config);
  const healthPolicy = healthPolicyOf(policies);
  const healthPolicies = healthPolicy === undefined ? [] : [healthPolicy];
  const all = [...policies, ...healthPolicies, ...triggerPoliciesOf(config)];
  const redis =
    redisUrl === undefined || all.length === 0 ? undefined : connectRateLimitRedis({ url: redisUrl, logger });
  const limiters = new Map(all.map((policy) => [policy.name, createLimiter(policy, redis, redisDeadlineMs)]));
  const refusals = initializedCounter(
    metrics,
    'uswarm_rate_limited_total',
    'Total requests rejected by a rate limit.',
    {
      limit: all.map(({ name }) => name),
    },
  );
  const shared = '1 if replicas share rate limits in Redis, 0 while each counts locally because Redis is unavailable.';
  readGauge(metrics, 'uswarm_rate_limits_shared', shared, () => (redis?.usable() === false ? 0 : 1));

  async function take(name: RateName, key: string): Promise<Quota | undefined> {
    const quota = await limiters.get(name)?.(key);
    if (quota?.allowed !== false) return quota;
    refusals.inc({ limit: name });
    throw new ApiError('rate_limited', { extra: { limit: name, retry_after_ms: Math.max(1, quota.resetMs) } });
  }

  return {
    policies,
    healthPolicies,
    request: (address) => take('ip', addressKey(address)),
    health: (address) => take('health', addressKey(address)),
    call: async ({ issuer, subject }) =>
      limiters.has('user') ? take('user', identityKey(issuer, subject)) : undefined,
    socketCall: (userId) => take('user', userId),
    send: (userId) => take('sends', userId),
    search: (userId) => take('search', userId),
    async trigger(triggerId, userId) {
      await take('trigger', triggerId);
      await take('triggers', userId);
    },
    close: () => redis?.close(),
  };
}

/** A hash, so that Redis does not store identities. */
function identityKey(issuer: string, subject: string): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url');
}
