import { z } from 'zod';

/** Two years: what browsers' preload lists ask for, and more than anyone needs. */
const LONGEST_S = 63_072_000;

/** Seconds for which clients remember to use https only; 0 sends no header. Only an edge with TLS should set it. */
export const hstsMaxAge = z.coerce.number().int().min(0).max(LONGEST_S).default(0);

/** Headers for each answer; none for 0 seconds. Subdomains are left out: they may belong to others. */
export const transportSecurity = (maxAgeS: number): Record<string, string> =>
  maxAgeS === 0 ? {} : { 'Strict-Transport-Security': `max-age=${maxAgeS}` };
