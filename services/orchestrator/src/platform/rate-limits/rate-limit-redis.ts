import { createClient } from '@redis/client';
import { backoffDelay, type Logger, startHeartbeat } from '@uswarm/service-kit';

export interface RateLimitRedisOptions {
  url: string;
  logger: Logger;
  /** Milliseconds between two pings. Default: 1 s */
  heartbeatMs?: number;
  /** The connection is replaced after this many ms without a response. Default: 3 s */
  answerDeadlineMs?: number;
}

/** A connection for which callers never wait: they count locally while Redis is unavailable. */
export interface RateLimitRedis {
  client: ReturnType<typeof openClient>;
  /** False while Redis is unavailable, and for a moment after each failed call. */
  usable(): boolean;
  worked(): void;
  failed(error: unknown): void;
  close(): void;
}

const RECONNECT = { initialMs: 50, maxMs: 2_000 };
const PAUSE_MS = 1_000;

/** The client rejects commands while it is disconnected instead of queueing them. */
function openClient(url: string, answerDeadlineMs: number) {
  return createClient({
    url,
    name: 'uswarm-rates',
    disableOfflineQueue: true,
    socket: {
      connectTimeout: 2_000,
      // Ends a handshake without a response. After the handshake, each heartbeat resets the timeout.
      socketTimeout: answerDeadlineMs,
      reconnectStrategy: (retries) => backoffDelay(RECONNECT, retries),
    },
  });
}

/** Connects in the background and reconnects without a limit. @throws on a malformed URL */
export function connectRateLimitRedis({
  url,
  logger,
  heartbeatMs = 1_000,
  answerDeadlineMs = 3_000,
}: RateLimitRedisOptions): RateLimitRedis {
  const client = openClient(url, answerDeadlineMs);
  let pausedUntil = 0;
  let reported = false;
  /** Logs once per outage instead of once per attempt. */
  const report = (error: unknown): void => {
    if (!reported) logger.warn({ err: error }, 'rate limiter: Redis unavailable, falling back to local counters');
    reported = true;
  };
  client.on('error', report);
  const open = (): void => void client.connect().catch(report);
  open();
  const heartbeat = startHeartbeat({
    connected: () => client.isReady,
    ping: () => client.ping(),
    replace() {
      report(new Error('Redis does not answer'));
      client.destroy();
      open();
    },
    intervalMs: heartbeatMs,
    deadlineMs: answerDeadlineMs,
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
    close() {
      heartbeat.stop();
      if (client.isOpen) client.destroy();
    },
  };
}
