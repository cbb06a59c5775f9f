import type { BusEnvelope } from '@uswarm/contract';
import { backoffDelay, type Logger, retry, startHeartbeat } from '@uswarm/service-kit';
import { createClient, ErrorReply } from 'redis';
import { decodeEnvelope, decodeSessionEnd, encodeEnvelope, encodeSessionEndOf02 } from './codec.js';
import type { BusOptions, EventBus } from './event-bus.js';
import { createFanOut, SESSIONS, type Transport } from './fan-out.js';
import { type AdapterCommands, createSessionEndEmitter, createSocketAdapter } from './socket-adapter.js';

export interface RedisBusOptions extends BusOptions {
  /** `redis://` or `rediss://`; its own instance or ACL user, limited to the channels `ws:*`. */
  url: string;
  logger: Logger;
  /** Milliseconds between two checks whether the server answers. Default: 1 s */
  heartbeatMs?: number;
  /** Milliseconds without an answer after which a connection is replaced. Default: 4 s */
  answerDeadlineMs?: number;
}

type Timing = Required<Pick<RedisBusOptions, 'heartbeatMs' | 'answerDeadlineMs'>>;
type Client = ReturnType<typeof createRedisClient>;
interface Connection {
  client: Client;
  /** Ends the connection; what was handed over is written first if it still stands. */
  close(): Promise<void>;
}

/** The sharded channel of a workspace, or of session ends. */
export const channelName = (channel: string): string => `ws:${channel}`;

const RECONNECT = { initialMs: 50, maxMs: 2_000 };
/** Milliseconds that an envelope may wait for a connection; who must not lose it publishes it again. */
const PUBLISH_DEADLINE_MS = 2_000;
/** Envelopes that may wait for a connection; more are dropped. */
const PUBLISH_QUEUE = 10_000;
const TIMING: Timing = { heartbeatMs: 1_000, answerDeadlineMs: 4_000 };

/** @throws on a malformed URL */
const createRedisClient = (url: string, role: string, answerDeadlineMs: number) =>
  createClient({
    url,
    name: `uswarm-bus-${role}`,
    commandsQueueMaxLength: PUBLISH_QUEUE,
    // Ends with the write of a command: what was written and is not answered is the heartbeat's to find.
    commandOptions: { timeout: PUBLISH_DEADLINE_MS },
    socket: {
      connectTimeout: answerDeadlineMs,
      // Ends a handshake that is not answered; afterwards each heartbeat resets it.
      socketTimeout: answerDeadlineMs,
      reconnectStrategy: (retries) => backoffDelay(RECONNECT, retries),
    },
  });

/**
 * Connects in the background and reconnects for ever; commands wait meanwhile. A connection on which nothing
 * is answered is replaced; commands in flight fail then, and subscriptions are made again.
 * @throws on a malformed URL.
 */
function connect(url: string, role: string, logger: Logger, { heartbeatMs, answerDeadlineMs }: Timing): Connection {
  const client = createRedisClient(url, role, answerDeadlineMs);
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
  const open = (): void => {
    client.connect().catch((error: unknown) => {
      if (client.isOpen) logger.error({ err: error, role }, 'the event bus cannot connect');
    });
  };
  open();
  const heartbeat = startHeartbeat({
    connected: () => client.isReady,
    ping: () => client.ping(),
    replace() {
      logger.warn({ role }, 'the event bus does not answer; the connection is replaced');
      reported = true;
      client.destroy();
      open();
    },
    intervalMs: heartbeatMs,
    deadlineMs: answerDeadlineMs,
  });
  return {
    client,
    close() {
      heartbeat.stop();
      return disconnect(client);
    },
  };
}

/** What the server itself refuses stays refused; everything else is the connection's fault. */
const connectionFailed = (error: unknown): boolean => !(error instanceof ErrorReply);

/** The client restores confirmed subscriptions by itself; those in flight when it lost the connection are ours to repeat. */
function shardedTransport(client: Client, logger: Logger, signal: AbortSignal): Transport {
  const untilDone = (command: () => Promise<void>): Promise<void> =>
    retry(command, { ...RECONNECT, deadlineMs: Infinity, signal, retryable: connectionFailed });
  return {
    open: (channel, receive) => untilDone(() => client.sSubscribe(channelName(channel), receive)),
    close(channel, receive) {
      untilDone(() => client.sUnsubscribe(channelName(channel), receive)).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error, channel }, 'could not unsubscribe');
      });
    },
  };
}

/** Repeated until it is in force; the client restores it by itself from then on. Never rejects. */
async function subscribeForAdapter(
  client: Client,
  channel: string,
  listener: (message: Buffer, channel: Buffer) => void,
  signal: AbortSignal,
): Promise<void> {
  const options = { ...RECONNECT, deadlineMs: Infinity, signal, retryable: connectionFailed };
  await retry(() => client.sSubscribe(channel, listener, true), options).catch(() => undefined);
}

/** @throws when `work` takes longer than `ms`: a command that is written has no deadline of its own. */
async function withinDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('Redis does not answer')), ms).unref();
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

async function disconnect(client: Client): Promise<void> {
  if (client.isReady) {
    const closed = client.close();
    const force = setTimeout(() => client.destroy(), 1_000);
    await closed;
    clearTimeout(force);
  } else if (client.isOpen) client.destroy();
}

/** A bus on Redis or Valkey (7 or newer) by sharded publish and subscribe. */
export function createRedisBus({ url, logger, heartbeatMs, answerDeadlineMs, ...options }: RedisBusOptions): EventBus {
  const stop = new AbortController();
  const timing: Timing = {
    heartbeatMs: heartbeatMs ?? TIMING.heartbeatMs,
    answerDeadlineMs: answerDeadlineMs ?? TIMING.answerDeadlineMs,
  };
  // Two connections, so that a burst of one direction does not delay the other.
  const publishing = connect(url, 'publish', logger, timing);
  const subscribing = connect(url, 'subscribe', logger, timing);
  const publisher = publishing.client;
  const subscriber = subscribing.client;
  const transport = shardedTransport(subscriber, logger, stop.signal);
  const envelopes = createFanOut({ ...options, logger, transport, decode: decodeEnvelope });
  const sessionEnds = createFanOut({ ...options, logger, transport, decode: decodeSessionEnd });

  /** Sent again when it was in flight while the connection broke: readers can tell, or do not mind, a duplicate. */
  const publishSurely = (channel: string, message: string | Buffer): Promise<unknown> =>
    retry(() => publisher.sPublish(channel, message), {
      ...RECONNECT,
      deadlineMs: PUBLISH_DEADLINE_MS,
      signal: stop.signal,
      retryable: connectionFailed,
    });

  const sendSurely = (channel: string, text: string): Promise<unknown> => publishSurely(channelName(channel), text);

  const adapterCommands: AdapterCommands = {
    publish: publishSurely,
    subscribe: (channel, listener) => subscribeForAdapter(subscriber, channel, listener, stop.signal),
    unsubscribe: async (channel) => {
      if (subscriber.isReady) await subscriber.sUnsubscribe(channel).catch(() => undefined);
    },
    command: (args) => withinDeadline(publisher.sendCommand([...args]), PUBLISH_DEADLINE_MS),
  };
  const emitSessionEnd = createSessionEndEmitter(adapterCommands);

  // A late chunk is worth nothing.
  const send = (envelope: BusEnvelope, text: string): Promise<unknown> =>
    envelope.kind === 'ephemeral'
      ? publisher.sPublish(channelName(envelope.workspace_id), text)
      : sendSurely(envelope.workspace_id, text);

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
    subscribe: (workspaceId, listener) => envelopes.subscribe(workspaceId, listener),
    async publishSessionEnd(end) {
      try {
        // First, because it says why; gateways that hear the second one too have closed the sockets by then.
        emitSessionEnd(end);
        // For gateways of release 0.2, until no release that may run beside this one has them.
        await sendSurely(SESSIONS, encodeSessionEndOf02(end));
        return true;
      } catch (error) {
        logger.warn({ err: error, userId: end.user_id }, 'the end of a session was not published');
        return false;
      }
    },
    onSessionEnd: (listener) => sessionEnds.subscribe(SESSIONS, listener),
    socketAdapter: createSocketAdapter(adapterCommands),
    healthy: () => !stop.signal.aborted && publisher.isReady && subscriber.isReady,
    async close() {
      stop.abort();
      envelopes.close();
      sessionEnds.close();
      await Promise.all([publishing.close(), subscribing.close()]);
    },
  };
}
