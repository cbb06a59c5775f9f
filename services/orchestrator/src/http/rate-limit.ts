import type { ClientAddress } from '@uswarm/service-kit';
import type { Request, RequestHandler, Response } from 'express';
import type { Identity } from '../features/auth/actor.js';
import { policyField, quotaField } from '../features/rate-limits/rate-headers.js';
import type { RateLimits } from '../features/rate-limits/rate-limits.js';

/** Counted apart, so that probes are answered when the other requests of their address are refused. */
const HEALTH = '/v1/health';

/** Refuses an address that asks too often, before anything else is done for it. @throws ApiError `rate_limited` */
export function limitAddresses(rates: RateLimits, addressOf: ClientAddress): RequestHandler {
  const api = { policies: policyField(rates.policies), count: rates.request };
  const health = { policies: policyField(rates.healthPolicies), count: rates.health };
  return async (request, response, next) => {
    const { policies, count } = request.path === HEALTH ? health : api;
    if (policies !== '') {
      response.set('RateLimit-Policy', policies);
      const quota = await count(addressOf(request));
      if (quota !== undefined) showLimit(response, quotaField(quota));
    }
    next();
  };
}

/** The same for somebody who showed who it is. @throws ApiError `rate_limited` */
export async function limitCaller(rates: RateLimits, { res: response }: Request, identity: Identity): Promise<void> {
  const quota = await rates.call(identity);
  if (response !== undefined && quota !== undefined) showLimit(response, quotaField(quota));
}

/** Adds to what the answer says of limits, on one line. */
export function showLimit(response: Response, field: string): void {
  const before = response.get('RateLimit');
  response.set('RateLimit', before === undefined ? field : `${before}, ${field}`);
}
