import { z } from 'zod';

/** Two years, the maximum. The browsers' preload lists recommend this value. */
const MAX_AGE_S = 63_072_000;

/** Seconds for which clients remember to use https only; 0 sends no header. Only an edge with TLS should set it. */
export const hstsMaxAge = z.coerce.number().int().min(0).max(MAX_AGE_S).default(0);

/** Headers for each response; none for 0 seconds. Subdomains are not included, because they may have other owners. */
export const transportSecurity = (maxAgeS: number): Record<string, string> =>
  maxAgeS === 0 ? {} : { 'Strict-Transport-Security': `max-age=${maxAgeS}` };
