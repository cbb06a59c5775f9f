import { createClient, ErrorReply } from '@redis/client';
import type { BusEnvelope } from '@uswarm/contract';
import { backoffDelay, type Logger, retry, startHeartbeat } from '@uswarm/service-kit';
import { decodeEnvelope, decodeSignal, decodeSessionEnd, encodeEnvelope, encodeSessionEndOf02 } from './codec.js';
import type { BusOptions, EventBus } from './event-bus.js';
import { createFanOut, SIGNALS, SESSIONS, type Transport } from './fan-out.js';
import { type AdapterCommands, createGatewayEmitter, createSocketAdapter } from './socket-adapter.js';

export interface RedisBusOptions extends BusOptions {
  /** `redis://` or `rediss://`: a dedicated instance, or an ACL user that is limited to the channels `ws:*`. */
  url: string;
  logger: Logger;
  /** Milliseconds between two heartbeats. Default: 1 s */
  heartbeatMs?: number;
  /** Milliseconds without a response after which a connection is replaced. Default: 4 s */
  answerDeadlineMs?: number;
}

type Timing = Required<Pick<RedisBusOptions, 'heartbeatMs' | 'answerDeadlineMs'>>;
type Client = ReturnType<typeof createRedisClient>;
interface Connection {
  client: Client;
  /** Closes the connection; pending commands are written first if it is established. */
  close(): Promise<void>;
}

/** Sharded channel for a workspace, or for session ends. */
export const channelName = (channel: string): string => `ws:${channel}`;

const RECONNECT = { initialMs: 50, maxMs: 2_000 };
/** Milliseconds that an envelope waits for a connection. The relay retries durable events that were not published. */
const PUBLISH_DEADLINE_MS = 2_000;
/** Maximum envelopes that wait for a connection; further ones are dropped. */
const PUBLISH_QUEUE = 10_000;
const TIMING: Timing = { heartbeatMs: 1_000, answerDeadlineMs: 4_000 };

/** @throws Error if the URL is malformed */
const createRedisClient = (url: string, role: string, answerDeadlineMs: number) =>
  createClient({
    url,
    name: `uswarm-bus-${role}`,
    commandsQueueMaxLength: PUBLISH_QUEUE,
    // Applies until a command is written. The heartbeat detects commands without a response.
    commandOptions: { timeout: PUBLISH_DEADLINE_MS },
    socket: {
      connectTimeout: answerDeadlineMs,
      // Ends a handshake without a response. Later, each heartbeat resets it.
      socketTimeout: answerDeadlineMs,
      reconnectStrategy: (retries) => backoffDelay(RECONNECT, retries),
    },
  });

/**
 * Connects in the background and reconnects without limit; commands wait meanwhile. A connection without responses is
 * replaced: commands in flight fail, and subscriptions are renewed.
 * @throws Error if the URL is malformed
 */
function connect(url: string, role: string, logger: Logger, { heartbeatMs, answerDeadlineMs }: Timing): Connection {
  const client = createRedisClient(url, role, answerDeadlineMs);
  let reported = false;
  client.on('error', (error) => {
    // One log line per outage, not one per attempt.
    if (!reported) logger.warn({ err: error, role }, 'event bus disconnected');
    reported = true;
  });
  client.on('ready', () => {
    if (reported) logger.info({ role }, 'event bus reconnected');
    reported = false;
  });
  const open = (): void => {
    client.connect().catch((error: unknown) => {
      if (client.isOpen) logger.error({ err: error, role }, 'event bus connection failed');
    });
  };
  open();
  const heartbeat = startHeartbeat({
    connected: () => client.isReady,
    ping: () => client.ping(),
    replace() {
      logger.warn({ role }, 'event bus unresponsive; replacing the connection');
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

/** An error reply from the server is final; all other errors concern the connection. */
const connectionFailed = (error: unknown): boolean => !(error instanceof ErrorReply);

/**
 * The client restores confirmed subscriptions. Those in flight during a disconnect are retried here. Commands on a
 * channel run one after the other, so that a retried SUNSUBSCRIBE does not end a later subscription.
 */
export function shardedTransport(
  client: Pick<Client, 'sSubscribe' | 'sUnsubscribe'>,
  logger: Pick<Logger, 'warn'>,
  signal: AbortSignal,
): Transport {
  /** The last command of each channel, until it is done. */
  const running = new Map<string, Promise<void>>();
  const untilDone = (command: () => Promise<void>): Promise<void> =>
    retry(command, { ...RECONNECT, deadlineMs: Infinity, signal, retryable: connectionFailed });

  function inOrder(channel: string, command: () => Promise<void>): Promise<void> {
    const run = (): Promise<void> => untilDone(command);
    const done = running.get(channel)?.then(run, run) ?? run();
    const forget = (): void => {
      if (running.get(channel) === done) running.delete(channel);
    };
    running.set(channel, done);
    done.then(forget, forget);
    return done;
  }

  return {
    open: (channel, receive) => inOrder(channel, () => client.sSubscribe(channelName(channel), receive)),
    close(channel, receive) {
      inOrder(channel, () => client.sUnsubscribe(channelName(channel), receive)).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error, channel }, 'unsubscribing failed');
      });
    },
  };
}

/** Retries until the subscription is active; the client restores it afterwards. Never rejects. */
async function subscribeForAdapter(
  client: Client,
  channel: string,
  listener: (message: Buffer, channel: Buffer) => void,
  signal: AbortSignal,
): Promise<void> {
  const options = { ...RECONNECT, deadlineMs: Infinity, signal, retryable: connectionFailed };
  await retry(() => client.sSubscribe(channel, listener, true), options).catch(() => undefined);
}

/** @throws Error if `work` takes longer than `ms`: node-redis has no timeout for a command that was written */
async function withinDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('Redis did not respond in time')), ms).unref();
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

/** The client is ready once it has restored its subscriptions. */
function watchReconnects(client: Client): EventBus['onReconnect'] {
  const listeners = new Set<() => void>();
  let connected = false;
  client.on('ready', () => {
    if (connected) for (const listener of listeners) listener();
    connected = true;
  });
  return (listener) => {
    const entry = () => listener();
    listeners.add(entry);
    return () => void listeners.delete(entry);
  };
}

/** A bus that uses sharded Pub/Sub of Redis or Valkey (7 or newer). */
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
  const reconnects = watchReconnects(subscriber);
  const transport = shardedTransport(subscriber, logger, stop.signal);
  const envelopes = createFanOut({ ...options, logger, transport, decode: decodeEnvelope });
  const sessionEnds = createFanOut({ ...options, logger, transport, decode: decodeSessionEnd });

  const signals = createFanOut({ ...options, logger, transport, decode: decodeSignal });

  /** Retries a message that was in flight during a disconnect: receivers detect or tolerate duplicates. */
  const publishWithRetry = (channel: string, message: string | Buffer): Promise<unknown> =>
    retry(() => withinDeadline(publisher.sPublish(channel, message), PUBLISH_DEADLINE_MS), {
      ...RECONNECT,
      deadlineMs: PUBLISH_DEADLINE_MS,
      signal: stop.signal,
      retryable: connectionFailed,
    });

  const sendWithRetry = (channel: string, text: string): Promise<unknown> =>
    publishWithRetry(channelName(channel), text);

  const adapterCommands: AdapterCommands = {
    publish: publishWithRetry,
    subscribe: (channel, listener) => subscribeForAdapter(subscriber, channel, listener, stop.signal),
    unsubscribe: async (channel) => {
      if (subscriber.isReady) await subscriber.sUnsubscribe(channel).catch(() => undefined);
    },
    command: (args) => withinDeadline(publisher.sendCommand([...args]), PUBLISH_DEADLINE_MS),
  };
  const gateways = createGatewayEmitter(adapterCommands);

  // Ephemeral events are not retried: a late chunk is worthless.
  const send = (envelope: BusEnvelope, text: string): Promise<unknown> =>
    envelope.kind === 'ephemeral'
      ? withinDeadline(publisher.sPublish(channelName(envelope.workspace_id), text), PUBLISH_DEADLINE_MS)
      : sendWithRetry(envelope.workspace_id, text);

  return {
    async publish(envelope, version = 2) {
      const text = encodeEnvelope(envelope, version);
      if (text === undefined) return true;
      try {
        await send(envelope, text);
        return true;
      } catch (error) {
        const level = envelope.kind === 'ephemeral' ? 'debug' : 'warn';
        const event = envelope.kind === 'skip' ? envelope.kind : envelope.event;
        logger[level]({ err: error, workspaceId: envelope.workspace_id, event }, 'publishing an event failed');
        return false;
      }
    },
    subscribe: (workspaceId, listener) => envelopes.subscribe(workspaceId, listener),
    async publishSessionEnd(end) {
      try {
        // First, because it includes the reason; gateways that receive both have then already closed the sockets.
        gateways.sessionEnd(end);
        // For gateways of release 0.2, until no supported upgrade starts from it.
        await sendWithRetry(SESSIONS, encodeSessionEndOf02(end));
        return true;
      } catch (error) {
        logger.warn({ err: error, userId: end.user_id }, 'publishing the end of a session failed');
        return false;
      }
    },
    onReconnect: reconnects,
    onSessionEnd: (listener) => sessionEnds.subscribe(SESSIONS, listener),
    publishUserEvent: gateways.userEvent,
    publishSignal: (topic) =>
      publisher.sPublish(channelName(SIGNALS), topic).then(
        () => true,
        () => false,
      ),
    onSignal: (listener) => signals.subscribe(SIGNALS, listener),
    socketAdapter: createSocketAdapter(adapterCommands),
    healthy: () => !stop.signal.aborted && publisher.isReady && subscriber.isReady,
    async close() {
      stop.abort();
      envelopes.close();
      sessionEnds.close();
      signals.close();
      await Promise.all([publishing.close(), subscribing.close()]);
    },
  };
}
