import type { Quota } from './limiter.js';
import type { RatePolicy } from './policies.js';

// The fields of draft-ietf-httpapi-ratelimit-headers (the combined form, since its revision 8): lists of
// named policies with parameters, in the syntax of RFC 9651.

/** `RateLimit-Policy`: quota `q` within a window of `w` seconds. */
export function policyField(policies: readonly RatePolicy[]): string {
  return policies.map(({ name, burst, windowS }) => `"${name}";q=${burst};w=${windowS}`).join(', ');
}

/** A member of `RateLimit`: the remaining quota (`r`), and the seconds until the full quota is available again (`t`). */
export function quotaField({ policy, remaining, resetMs }: Quota): string {
  return memberField(policy.name, remaining, resetMs);
}

/** A member of `RateLimit` for an exhausted limit. */
export function exhaustedField(limit: string, retryAfterMs: number): string {
  return memberField(limit, 0, retryAfterMs);
}

function memberField(name: string, remaining: number, resetMs: number): string {
  return `"${name}";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`;
}
