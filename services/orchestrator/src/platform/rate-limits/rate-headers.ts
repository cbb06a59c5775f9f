import type { Quota } from './limiter.js';
import type { RatePolicy } from './policies.js';

// draft-ietf-httpapi-ratelimit-headers in its combined form, since revision 8: each field lists named policies with
// parameters, in RFC 9651 syntax.

/** `RateLimit-Policy`: quota `q` within a window of `w` seconds. */
export function policyField(policies: readonly RatePolicy[]): string {
  return policies.map(({ name, burst, windowS }) => `"${name}";q=${burst};w=${windowS}`).join(', ');
}

/** One `RateLimit` member: the remaining quota (`r`), and the seconds until the full quota is available again (`t`). */
export function quotaField({ policy, remaining, resetMs }: Quota): string {
  return memberField(policy.name, remaining, resetMs);
}

/** The `RateLimit` member for an exhausted limit. */
export function exhaustedField(limit: string, retryAfterMs: number): string {
  return memberField(limit, 0, retryAfterMs);
}

function memberField(name: string, remaining: number, resetMs: number): string {
  return `"${name}";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`;
}
