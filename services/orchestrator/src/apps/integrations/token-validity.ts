import type { Validity } from '../../records/integrations.store.js';
import type { Grant } from './oauth-answer.js';

const AHEAD_MS = 5 * 60_000;

/** Schedules the renewal five minutes before expiry, or halfway through a shorter lifetime. */
export function validityOf(
  { expiresInS, refreshToken }: Pick<Grant, 'expiresInS' | 'refreshToken'>,
  now: Date,
): Validity {
  if (expiresInS === undefined) return { expiresAt: null, refreshAt: null };
  const lifeMs = expiresInS * 1_000;
  const expiresAt = new Date(now.getTime() + lifeMs);
  const refreshAt = new Date(expiresAt.getTime() - Math.min(AHEAD_MS, lifeMs / 2));
  return { expiresAt, refreshAt: refreshToken === undefined ? null : refreshAt };
}
