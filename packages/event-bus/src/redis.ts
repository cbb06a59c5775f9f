import type { BusEnvelope } from '@uswarm/contract';
import { type Logger, parseValkeyUrl, retry, withinDeadline } from '@uswarm/service-kit';
import { decodeEnvelope, decodeSignal, decodeSessionEnd, encodeEnvelope, encodeSessionEndOf02 } from './codec.js';
import type { BusOptions, EventBus } from './event-bus.js';
import { createFanOut, SIGNALS, SESSIONS, type Transport } from './fan-out.js';
import { type AdapterCommands, createGatewayEmitter, createSocketAdapter } from './socket-adapter.js';
import { type Connections, connectToPrimaries, isRetryable } from './valkey/connections.js';
import type { ConnectionLog, LinkTiming } from './valkey/link.js';
import { createSubscriptions, type Subscriptions } from './valkey/subscriptions.js';
import { createTopology } from './valkey/topology.js';

export interface RedisBusOptions extends BusOptions {
  /** See `parseValkeyUrl`. A dedicated instance, or an ACL user that is limited to the channels `ws:*`. */
  url: string;
  logger: Logger;
  /** Milliseconds between two heartbeats. Default: 1 s */
  heartbeatMs?: number;
  /** Milliseconds without a response after which a connection is replaced. Default: 4 s */
  answerDeadlineMs?: number;
}

const CHANNEL_PREFIX = 'ws:';
/** Sharded channel for a workspace, or for session ends. */
export const channelName = (channel: string): string => `${CHANNEL_PREFIX}${channel}`;

const RECONNECT = { initialMs: 50, maxMs: 2_000 };
/** Milliseconds that an envelope waits for a connection. The relay retries durable events that were not published. */
const PUBLISH_DEADLINE_MS = 2_000;
/** Maximum envelopes that wait for a connection; further ones are dropped. */
const PUBLISH_QUEUE = 10_000;
const TIMING: LinkTiming = { heartbeatMs: 1_000, answerDeadlineMs: 4_000 };

/**
 * Retries what fails while a node is unreachable or a slot moves. Commands on a channel run one after the other, so that
 * a retried SUNSUBSCRIBE does not end a later subscription.
 */
export function shardedTransport(
  subscriptions: Pick<Subscriptions, 'subscribe' | 'unsubscribe'>,
  logger: Pick<Logger, 'warn'>,
  signal: AbortSignal,
): Transport {
  /** The last command of each channel, until it is done. */
  const running = new Map<string, Promise<void>>();
  const untilDone = (command: () => Promise<void>): Promise<void> =>
    retry(command, { ...RECONNECT, deadlineMs: Infinity, signal, retryable: isRetryable });

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
    open: (channel, receive) =>
      inOrder(channel, () => subscriptions.subscribe(channelName(channel), { text: receive })),
    close(channel) {
      inOrder(channel, () => subscriptions.unsubscribe(channelName(channel))).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error, channel }, 'unsubscribing failed');
      });
    },
  };
}

/** Retries a message that was in flight during a disconnect: receivers detect or tolerate duplicates. */
const publishWithRetry = (
  publishing: Pick<Connections, 'run'>,
  channel: string,
  message: string | Buffer,
  signal: AbortSignal,
): Promise<unknown> => {
  const options = { ...RECONNECT, deadlineMs: PUBLISH_DEADLINE_MS, signal, retryable: isRetryable };
  return retry(() => publishOnce(publishing, channel, message), options);
};

/** node-redis has no timeout for a command that was written. */
const publishOnce = (publishing: Pick<Connections, 'run'>, channel: string, message: string | Buffer) =>
  withinDeadline(
    publishing.run(channel, (client) => client.sPublish(channel, message)),
    PUBLISH_DEADLINE_MS,
  );

/** Only `command` may reject. */
function adapterCommandsFor(
  publishing: Connections,
  subscriptions: Subscriptions,
  signal: AbortSignal,
): AdapterCommands {
  const untilActive = { ...RECONNECT, deadlineMs: Infinity, signal, retryable: isRetryable };
  return {
    publish: (channel, message) => publishWithRetry(publishing, channel, message, signal),
    subscribe: (channel, raw) =>
      retry(() => subscriptions.subscribe(channel, { raw }), untilActive).catch(() => undefined),
    unsubscribe: (channel) => subscriptions.unsubscribe(channel).catch(() => undefined),
    // `PUBSUB SHARDNUMSUB` counts at the primary of the channel alone.
    command: (args) =>
      withinDeadline(
        publishing.run(args.at(-1) ?? '', (client) => client.sendCommand([...args])),
        PUBLISH_DEADLINE_MS,
      ),
  };
}

/**
 * A bus that uses sharded Pub/Sub of Redis or Valkey (7 or newer): one server, a cluster, or a primary that sentinels know.
 * @throws Error if the URL is malformed
 */
export function createRedisBus({ url, logger, heartbeatMs, answerDeadlineMs, ...options }: RedisBusOptions): EventBus {
  const stop = new AbortController();
  const { signal } = stop;
  const timing: LinkTiming = {
    heartbeatMs: heartbeatMs ?? TIMING.heartbeatMs,
    answerDeadlineMs: answerDeadlineMs ?? TIMING.answerDeadlineMs,
  };
  const target = parseValkeyUrl(url);
  const log: ConnectionLog = {
    disconnected: (about, err) => logger.warn({ err, ...about }, 'event bus disconnected'),
    reconnected: (about) => logger.info(about, 'event bus reconnected'),
    unresponsive: (about) => logger.warn(about, 'event bus unresponsive; replacing the connection'),
  };
  const topology = createTopology({ target, name: 'uswarm-bus', log });
  // Two connections per node, so that a burst of one direction does not delay the other.
  const connect = (role: string): Connections =>
    connectToPrimaries(topology, {
      target,
      name: `uswarm-bus-${role}`,
      role,
      log,
      timing,
      queue: { length: PUBLISH_QUEUE, deadlineMs: PUBLISH_DEADLINE_MS },
    });
  const publishing = connect('publish');
  const subscribing = connect('subscribe');
  const subscriptions = createSubscriptions({
    connections: subscribing,
    topology,
    logger,
    reconnect: RECONNECT,
    auditMs: target.kind === 'cluster' ? timing.heartbeatMs : undefined,
    signal,
  });
  const transport = shardedTransport(subscriptions, logger, signal);
  const envelopes = createFanOut({ ...options, logger, transport, decode: decodeEnvelope });
  const sessionEnds = createFanOut({ ...options, logger, transport, decode: decodeSessionEnd });

  const signals = createFanOut({ ...options, logger, transport, decode: decodeSignal });

  const sendWithRetry = (channel: string, text: string): Promise<unknown> =>
    publishWithRetry(publishing, channelName(channel), text, signal);

  const adapterCommands = adapterCommandsFor(publishing, subscriptions, signal);
  const gateways = createGatewayEmitter(adapterCommands);

  // Ephemeral events are not retried: a late chunk is worthless.
  const send = (envelope: BusEnvelope, text: string): Promise<unknown> =>
    envelope.kind === 'ephemeral'
      ? publishOnce(publishing, channelName(envelope.workspace_id), text)
      : sendWithRetry(envelope.workspace_id, text);

  return {
    async publish(envelope, version = 2) {
      try {
        await send(envelope, encodeEnvelope(envelope, version));
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
    onReconnect: (listener) =>
      subscriptions.onRestored((channels) => {
        listener(new Set([...channels].map((channel) => channel.slice(CHANNEL_PREFIX.length))));
      }),
    onSessionEnd: (listener) => sessionEnds.subscribe(SESSIONS, listener),
    publishUserEvent: gateways.userEvent,
    publishSignal: (topic) =>
      publishOnce(publishing, channelName(SIGNALS), topic).then(
        () => true,
        () => false,
      ),
    onSignal: (listener) => signals.subscribe(SIGNALS, listener),
    socketAdapter: createSocketAdapter(adapterCommands),
    healthy: () => !signal.aborted && publishing.ready() && subscribing.ready(),
    async close() {
      stop.abort();
      envelopes.close();
      sessionEnds.close();
      signals.close();
      topology.close();
      await Promise.all([publishing.close(), subscribing.close()]);
    },
  };
}
