import type { Clock, Logger } from '@uswarm/service-kit';
import type { PushResult } from './push-sender.js';

export const PUSH_TIMEOUT_MS = 10_000;
export const MAX_ANSWER_BYTES = 64 * 1_024;
/** Services keep a message this long for a device without a connection. */
export const TTL_S = 3_600;

/** Without `Retry-After`; Firebase asks for a minute after 429. */
const RETRY_MS = 10_000;
const LIMITED_RETRY_MS = 60_000;
const MAX_RETRY_MS = 30 * 60_000;
const LIMITED = 429;

/** Retries an attempt without an answer. */
export async function attempt(
  run: () => Promise<PushResult>,
  signal: AbortSignal,
  logger: Pick<Logger, 'warn'>,
): Promise<PushResult> {
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    logger.warn({ err: error }, 'a push notification was not sent; will retry');
    return { retryInMs: RETRY_MS };
  }
}

/** @returns undefined if the answer does not ask for another attempt */
export function retryOf(
  status: number,
  retryAfter: string | string[] | undefined,
  clock: Clock,
): { retryInMs: number } | undefined {
  if (status !== LIMITED && status < 500) return undefined;
  const least = status === LIMITED ? LIMITED_RETRY_MS : RETRY_MS;
  return { retryInMs: Math.min(retryAfterMs(retryAfter, clock.now()) ?? least, MAX_RETRY_MS) };
}

/** A proxy answered instead of the service. */
export function answeredByProxy(status: number, logger: Pick<Logger, 'warn'>): PushResult {
  logger.warn({ status }, 'a proxy answered instead of the push service; will retry');
  return { retryInMs: RETRY_MS };
}

/** Parses a `Retry-After` header: seconds or a date. */
function retryAfterMs(header: string | string[] | undefined, now: Date): number | undefined {
  if (typeof header !== 'string') return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now.getTime();
  return Number.isFinite(ms) ? Math.max(ms, 1_000) : undefined;
}
