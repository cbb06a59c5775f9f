import { ConfigError } from '@uswarm/service-kit';

/** `ip` and `health` count per address, `trigger` per trigger; the others per user. */
export type RateName = 'ip' | 'user' | 'sends' | 'search' | 'health' | 'trigger' | 'triggers';

/**
 * Allows `burst` requests in a window of `windowS` seconds that begins with the first request: a sustained rate of
 * `burst / windowS` per second.
 */
export interface RatePolicy {
  name: RateName;
  burst: number;
  windowS: number;
}

export interface RateSettings {
  RATE_IP_PER_S: number;
  RATE_IP_BURST: number;
  RATE_USER_PER_S: number;
  RATE_USER_BURST: number;
  RATE_SENDS_PER_S: number;
  RATE_SENDS_BURST: number;
  RATE_SEARCH_PER_S: number;
  RATE_SEARCH_BURST: number;
  RATE_TRIGGERS_PER_S: number;
  RATE_TRIGGERS_BURST: number;
}

/** Leaves out policies with a rate of 0 per second. @throws ConfigError */
export function policiesOf(config: RateSettings): RatePolicy[] {
  return [
    policyOf('ip', 'RATE_IP', config.RATE_IP_PER_S, config.RATE_IP_BURST),
    policyOf('user', 'RATE_USER', config.RATE_USER_PER_S, config.RATE_USER_BURST),
    policyOf('sends', 'RATE_SENDS', config.RATE_SENDS_PER_S, config.RATE_SENDS_BURST),
    policyOf('search', 'RATE_SEARCH', config.RATE_SEARCH_PER_S, config.RATE_SEARCH_BURST),
  ].filter((policy) => policy !== undefined);
}

const HEALTH_TIMES = 10;

/** Health checks have a separate policy per address with ten times the burst. */
export function healthPolicyOf(policies: readonly RatePolicy[]): RatePolicy | undefined {
  const ip = policies.find(({ name }) => name === 'ip');
  return ip === undefined ? undefined : { ...ip, name: 'health', burst: ip.burst * HEALTH_TIMES };
}

const USER_TIMES = 4;

/** A user's triggers share four times the limit of one. Only their senders need to know these limits. */
export function triggerPoliciesOf({ RATE_TRIGGERS_PER_S, RATE_TRIGGERS_BURST }: RateSettings): RatePolicy[] {
  const one = policyOf('trigger', 'RATE_TRIGGERS', RATE_TRIGGERS_PER_S, RATE_TRIGGERS_BURST);
  return one === undefined ? [] : [one, { ...one, name: 'triggers', burst: one.burst * USER_TIMES }];
}

function policyOf(name: RateName, setting: string, perSecond: number, burst: number): RatePolicy | undefined {
  if (perSecond === 0) return undefined;
  const windowS = burst / perSecond;
  // Windows have whole seconds. Rounding would silently change the configured rate.
  if (!Number.isInteger(windowS) || windowS === 0) {
    throw new ConfigError(`${setting}_BURST is not a multiple of ${setting}_PER_S`);
  }
  return { name, burst, windowS };
}
