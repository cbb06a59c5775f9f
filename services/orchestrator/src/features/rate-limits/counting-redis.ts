import { backoffDelay, type Logger } from '@uswarm/service-kit';
import { createClient } from 'redis';

export interface CountingRedisOptions {
  url: string;
  logger: Logger;
}

/** A connection that is never waited for: while it is away, whoever needs it does without. */
export interface CountingRedis {
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

/** Nothing waits in it for a connection, and a server that hangs is noticed by the missing answer. */
function openClient(url: string) {
  return createClient({
    url,
    name: 'uswarm-rates',
    disableOfflineQueue: true,
    pingInterval: 1_000,
    socket: {
      connectTimeout: 2_000,
      socketTimeout: 3_000,
      reconnectStrategy: (retries) => backoffDelay(RECONNECT, retries),
    },
  });
}

/** Connects in the background and reconnects for ever. @throws on a malformed URL */
export function connectCountingRedis({ url, logger }: CountingRedisOptions): CountingRedis {
  const client = openClient(url);
  let pausedUntil = 0;
  let reported = false;
  /** One line an outage, not one an attempt. */
  const report = (error: unknown): void => {
    if (!reported) logger.warn({ err: error }, 'rates are counted in this process alone');
    reported = true;
  };
  client.on('error', report);
  client.connect().catch(report);
  return {
    client,
    usable: () => client.isReady && performance.now() >= pausedUntil,
    worked() {
      if (reported) logger.info('rates are counted together again');
      reported = false;
    },
    failed(error) {
      pausedUntil = performance.now() + PAUSE_MS;
      report(error);
    },
    close() {
      if (client.isOpen) client.destroy();
    },
  };
}
