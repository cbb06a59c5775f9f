import type { ClientAddress } from '@uswarm/service-kit';
import type { Request, RequestHandler, Response } from 'express';
import type { Identity } from '../../accounts/auth/actor.js';
import { policyField, quotaField } from '../rate-limits/rate-headers.js';
import type { RateLimits } from '../rate-limits/rate-limits.js';

/** Has a separate limit, so that probes succeed while other requests from the same address are rejected. */
const HEALTH = '/v1/health';

/** Limits requests per address, before any other processing. @throws ApiError `rate_limited` */
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

/** @throws ApiError `rate_limited` */
export async function limitCaller(rates: RateLimits, { res: response }: Request, identity: Identity): Promise<void> {
  const quota = await rates.call(identity);
  if (response !== undefined && quota !== undefined) showLimit(response, quotaField(quota));
}

export function showLimit(response: Response, field: string): void {
  const before = response.get('RateLimit');
  response.set('RateLimit', before === undefined ? field : `${before}, ${field}`);
}
