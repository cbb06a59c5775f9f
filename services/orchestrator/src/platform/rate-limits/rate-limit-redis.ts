import { connectValkey, type ValkeyCommands } from '@uswarm/event-bus';
import type { Logger } from '@uswarm/service-kit';

export interface RateLimitRedisOptions {
  /** See `parseValkeyUrl`. */
  url: string;
  logger: Logger;
  /** Milliseconds between two pings. Default: 1 s */
  heartbeatMs?: number;
  /** A connection is replaced after this many ms without a response. Default: 3 s */
  answerDeadlineMs?: number;
}

/** Connections for which callers never wait: they count locally while Redis is unavailable. */
export interface RateLimitRedis {
  client: ValkeyCommands;
  /** False while Redis is unavailable, and for a moment after each failed call. */
  usable(): boolean;
  worked(): void;
  failed(error: unknown): void;
  close(): void;
}

const PAUSE_MS = 1_000;

/** Connects in the background and reconnects without a limit. @throws on a malformed URL */
export function connectRateLimitRedis({
  url,
  logger,
  heartbeatMs = 1_000,
  answerDeadlineMs = 3_000,
}: RateLimitRedisOptions): RateLimitRedis {
  let pausedUntil = 0;
  let reported = false;
  /** Logs once per outage instead of once per attempt. */
  const report = (error: unknown): void => {
    if (!reported) logger.warn({ err: error }, 'rate limiter: Redis unavailable, falling back to local counters');
    reported = true;
  };
  const client = connectValkey({
    url,
    name: 'uswarm-rates',
    timing: { heartbeatMs, answerDeadlineMs },
    onError: report,
  });
  return {
    client,
    usable: () => client.isReady && performance.now() >= pausedUntil,
    worked() {
      if (reported) logger.info('rate limiter: Redis recovered');
      reported = false;
    },
    failed(error) {
      pausedUntil = performance.now() + PAUSE_MS;
      report(error);
    },
    close: () => client.close(),
  };
}
