import type { BusEnvelope } from '@uswarm/contract';
import { backoffDelay, type Logger, retry } from '@uswarm/service-kit';
import { createClient, ErrorReply } from 'redis';
import { encodeEnvelope } from './codec.js';
import type { BusOptions, EventBus } from './event-bus.js';
import { createFanOut, type Transport } from './fan-out.js';

export interface RedisBusOptions extends BusOptions {
  /** `redis://` or `rediss://`; its own instance or ACL user, limited to the channels `ws:*`. */
  url: string;
  logger: Logger;
}

type Client = ReturnType<typeof connect>;

/** The sharded channel of a workspace. */
export const channelName = (workspaceId: string): string => `ws:${workspaceId}`;

const RECONNECT = { initialMs: 50, maxMs: 2_000 };
/** Milliseconds that an envelope may wait for a connection; who must not lose it publishes it again. */
const PUBLISH_DEADLINE_MS = 2_000;
/** Envelopes that may wait for a connection; more are dropped. */
const PUBLISH_QUEUE = 10_000;

/** Connects in the background and reconnects for ever; commands wait meanwhile. @throws on a malformed URL. */
function connect(url: string, role: string, logger: Logger) {
  const client = createClient({
    url,
    name: `uswarm-bus-${role}`,
    commandsQueueMaxLength: PUBLISH_QUEUE,
    commandOptions: { timeout: PUBLISH_DEADLINE_MS },
    // A connection that died without a word (a lost node) is noticed by the missing answer.
    pingInterval: 5_000,
    socket: {
      socketTimeout: 15_000,
      reconnectStrategy: (retries) => backoffDelay(RECONNECT, retries),
    },
  });
  let reported = false;
  client.on('error', (error) => {
    // One line an outage, not one an attempt.
    if (!reported) logger.warn({ err: error, role }, 'the event bus lost its connection');
    reported = true;
  });
  client.on('ready', () => {
    if (reported) logger.info({ role }, 'the event bus is connected again');
    reported = false;
  });
  client.connect().catch((error: unknown) => {
    if (client.isOpen) logger.error({ err: error, role }, 'the event bus cannot connect');
  });
  return client;
}

/** What the server itself refuses stays refused; everything else is the connection's fault. */
const connectionFailed = (error: unknown): boolean => !(error instanceof ErrorReply);

/** The client restores confirmed subscriptions by itself; those in flight when it lost the connection are ours to repeat. */
function shardedTransport(client: Client, logger: Logger, signal: AbortSignal): Transport {
  const untilDone = (command: () => Promise<void>): Promise<void> =>
    retry(command, { ...RECONNECT, deadlineMs: Infinity, signal, retryable: connectionFailed });
  return {
    open: (workspaceId, receive) => untilDone(() => client.sSubscribe(channelName(workspaceId), receive)),
    close(workspaceId, receive) {
      untilDone(() => client.sUnsubscribe(channelName(workspaceId), receive)).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error, workspaceId }, 'could not unsubscribe');
      });
    },
  };
}

/** Ends the connection; what was handed over goes out first where there is still a connection. */
async function disconnect(client: Client): Promise<void> {
  if (client.isReady) {
    const closed = client.close();
    const force = setTimeout(() => client.destroy(), 1_000);
    await closed;
    clearTimeout(force);
  } else if (client.isOpen) client.destroy();
}

/** A bus on Redis or Valkey (7 or newer) by sharded publish and subscribe. */
export function createRedisBus({ url, logger, ...options }: RedisBusOptions): EventBus {
  const stop = new AbortController();
  // Two connections, so that a burst of one direction does not delay the other.
  const publisher = connect(url, 'publish', logger);
  const subscriber = connect(url, 'subscribe', logger);
  const fanOut = createFanOut({
    ...options,
    logger,
    transport: shardedTransport(subscriber, logger, stop.signal),
  });

  const send = (envelope: BusEnvelope, text: string): Promise<unknown> => {
    const command = (): Promise<unknown> => publisher.sPublish(channelName(envelope.workspace_id), text);
    // A late chunk is worth nothing; a durable event that was in flight when the connection broke
    // is sent again, for its readers tell duplicates by `seq`.
    if (envelope.kind === 'ephemeral') return command();
    return retry(command, {
      ...RECONNECT,
      deadlineMs: PUBLISH_DEADLINE_MS,
      signal: stop.signal,
      retryable: connectionFailed,
    });
  };

  return {
    async publish(envelope) {
      try {
        await send(envelope, encodeEnvelope(envelope));
        return true;
      } catch (error) {
        const level = envelope.kind === 'durable' ? 'warn' : 'debug';
        logger[level](
          { err: error, workspaceId: envelope.workspace_id, event: envelope.event },
          'an event was not published',
        );
        return false;
      }
    },
    subscribe: (workspaceId, listener) => fanOut.subscribe(workspaceId, listener),
    healthy: () => !stop.signal.aborted && publisher.isReady && subscriber.isReady,
    async close() {
      stop.abort();
      fanOut.close();
      await Promise.all([disconnect(publisher), disconnect(subscriber)]);
    },
  };
}
