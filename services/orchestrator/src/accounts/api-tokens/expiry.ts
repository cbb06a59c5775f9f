import { ApiError } from '@uswarm/contract';

const DAY_MS = 24 * 3_600_000;

/**
 * @param stated by the user; null for the default
 * @throws ApiError `validation_failed` for a time in the past, or after the maximum
 */
export function expiryOf(stated: string | null, now: Date, days: { initial: number; maximum: number }): Date {
  const inDays = (count: number): Date => new Date(now.getTime() + count * DAY_MS);
  if (stated === null) return inDays(days.initial);
  const time = new Date(stated);
  if (time <= now) throw invalid('must be in the future');
  if (time > inDays(days.maximum)) throw invalid(`must be within ${days.maximum} days`);
  return time;
}

const invalid = (message: string): ApiError =>
  new ApiError('validation_failed', { extra: { fields: [{ path: 'expires_at', message }] } });
