import { backoffDelay, type Logger, startHeartbeat } from '@uswarm/service-kit';
import { createClient } from 'redis';

export interface RateLimitRedisOptions {
  url: string;
  logger: Logger;
  /** Milliseconds between two checks whether the server answers. Default: 1 s */
  heartbeatMs?: number;
  /** Milliseconds without an answer after which the connection is replaced. Default: 3 s */
  answerDeadlineMs?: number;
}

/** A connection that is never awaited: callers do without it while Redis is unavailable. */
export interface RateLimitRedis {
  client: ReturnType<typeof openClient>;
  /** Whether it is worth asking now. */
  usable(): boolean;
  worked(): void;
  /** It did not answer, or refused: left alone for a moment. */
  failed(error: unknown): void;
  close(): void;
}

const RECONNECT = { initialMs: 50, maxMs: 2_000 };
const PAUSE_MS = 1_000;

/** Nothing waits in it for a connection. */
function openClient(url: string, answerDeadlineMs: number) {
  return createClient({
    url,
    name: 'uswarm-rates',
    disableOfflineQueue: true,
    socket: {
      connectTimeout: 2_000,
      // Ends a handshake that is not answered; afterwards each heartbeat resets it.
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
  /** One line an outage, not one an attempt. */
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
