import { type Backoff, type Logger, retry } from '@uswarm/service-kit';
import { type Connections, isRetryable, redirectOf } from './connections.js';
import type { Link } from './link.js';
import type { Topology } from './topology.js';

export type Receive = { text: (message: string) => void } | { raw: (message: Buffer, channel: Buffer) => void };

/** Subscriptions to sharded channels, one per channel, each at the primary of the channel's slot. */
export interface Subscriptions {
  /** Resolves when the subscription is active. It then follows its slot until `unsubscribe`. @throws what the node replies */
  subscribe(channel: string, receive: Receive): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  /** Calls `listener` with channels whose messages may have been lost, once they are delivered again. */
  onRestored(listener: Listener): () => void;
}

interface Subscription {
  channel: string;
  receive: Receive;
  /** Where it is active; undefined if it is not. The client restores it after a reconnect. */
  link: Link | undefined;
  moving: Promise<void> | undefined;
  ending: boolean;
}

export interface SubscriptionsDeps {
  connections: Connections;
  topology: Topology;
  logger: Pick<Logger, 'warn'>;
  reconnect: Backoff;
  /** Milliseconds between two comparisons with the node's count of subscriptions, if nodes end some. */
  auditMs: number | undefined;
  signal: AbortSignal;
}

type Listener = (channels: ReadonlySet<string>) => void;

/** Milliseconds for which restored channels are collected: a slot's channels move one after another. */
const REPORT_EVERY_MS = 250;

export function createSubscriptions({
  connections,
  topology,
  logger,
  reconnect,
  auditMs,
  signal,
}: SubscriptionsDeps): Subscriptions {
  const subscriptions = new Map<string, Subscription>();
  const { report, onReport } = collectReports(signal);
  /** Subscribes at the primary, if it is another one than before. */
  async function place(subscription: Subscription): Promise<void> {
    const { channel, receive } = subscription;
    const link = connections.linkOf(channel);
    if (subscription.link === link) return;
    try {
      if ('text' in receive) await link.client.sSubscribe(channel, receive.text);
      else await link.client.sSubscribe(channel, receive.raw, true);
    } catch (error) {
      const redirect = redirectOf(error, link);
      if (redirect?.kind === 'MOVED') topology.moved(redirect.slot, redirect.address);
      if (isRetryable(error)) topology.refresh();
      throw error;
    }
    subscription.link = link;
  }

  const isAtPrimary = ({ channel, link }: Subscription): boolean => {
    try {
      return link !== undefined && connections.linkOf(channel) === link;
    } catch {
      return false;
    }
  };

  /** Moves it to its primary in the background, if it is elsewhere or lost. */
  function follow(subscription: Subscription): void {
    const ended = (): boolean => subscription.ending || signal.aborted;
    if (subscription.moving !== undefined || ended() || isAtPrimary(subscription)) return;
    const options = {
      ...reconnect,
      deadlineMs: Infinity,
      signal,
      retryable: (error: unknown) => !ended() && isRetryable(error),
    };
    const move = async (): Promise<void> => {
      try {
        await retry(() => place(subscription), options);
        report([subscription.channel]);
        subscription.moving = undefined;
        follow(subscription);
      } catch (error) {
        subscription.moving = undefined;
        if (!ended()) logger.warn({ err: error, channel: subscription.channel }, 'a subscription was refused');
      }
    };
    subscription.moving = move();
  }

  const followAll = (): void => {
    for (const subscription of subscriptions.values()) follow(subscription);
  };
  const activeAt = (link: Link): Subscription[] =>
    [...subscriptions.values()].filter((subscription) => subscription.link === link);

  function lose(lost: readonly Subscription[]): void {
    for (const subscription of lost) subscription.link = undefined;
    topology.refresh();
    for (const subscription of lost) follow(subscription);
  }

  topology.onChange(followAll);
  connections.onLink((link) => {
    if (auditMs !== undefined) {
      auditSubscriptions(link, { expected: () => activeAt(link).length, everyMs: auditMs, logger });
    }
    let connected = false;
    // It is ready once it has restored its subscriptions.
    link.client.on('ready', () => {
      if (connected) report(activeAt(link).map(({ channel }) => channel));
      connected = true;
    });
    // The node has ended the subscription, because the slot has moved.
    link.client.on('sharded-channel-moved', (channel: string) => {
      const moved = subscriptions.get(channel);
      if (moved?.link === link) lose([moved]);
    });
    // A subscription could not be restored, and the client has forgotten all of them.
    link.client.on('__MOVED', () => lose(activeAt(link)));
  });

  return {
    async subscribe(channel, receive) {
      const subscription: Subscription = { channel, receive, link: undefined, moving: undefined, ending: false };
      await place(subscription);
      subscriptions.set(channel, subscription);
      follow(subscription);
    },
    async unsubscribe(channel) {
      const subscription = subscriptions.get(channel);
      if (subscription === undefined) return;
      subscription.ending = true;
      await subscription.moving;
      const { link } = subscription;
      try {
        if (link?.client.isOpen === true) await link.client.sUnsubscribe(channel);
      } catch (error) {
        // A slot that has moved took the subscription with it.
        if (redirectOf(error, link ?? { address: '' }) === undefined) throw error;
      }
      subscriptions.delete(channel);
    },
    onRestored: onReport,
  };
}

/** Reports the first channels immediately, and further ones together. */
function collectReports(signal: AbortSignal) {
  const listeners = new Set<Listener>();
  let channels = new Set<string>();
  let lastAt = -Infinity;
  let isDue = false;

  function deliver(): void {
    isDue = false;
    lastAt = performance.now();
    const reported = channels;
    channels = new Set();
    if (!signal.aborted) for (const listener of listeners) listener(reported);
  }

  return {
    report(more: readonly string[]): void {
      for (const channel of more) channels.add(channel);
      if (isDue || channels.size === 0) return;
      isDue = true;
      const waitMs = lastAt + REPORT_EVERY_MS - performance.now();
      if (waitMs <= 0) deliver();
      else setTimeout(deliver, waitMs).unref();
    },
    onReport(listener: Listener): () => void {
      const entry: Listener = (reported) => listener(reported);
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
}

interface AuditOptions {
  /** The number of subscriptions that should be active. */
  expected: () => number;
  everyMs: number;
  logger: Pick<Logger, 'warn'>;
}

/** A command in flight can explain one difference. */
const AUDITS = 2;

/**
 * Replaces the connection if the server has fewer subscriptions. The client misses that a node ends a subscription if a
 * command is in flight at this moment, and takes the message for the command's reply.
 */
function auditSubscriptions(link: Link, { expected, everyMs, logger }: AuditOptions): void {
  let short = 0;
  const audit = async (): Promise<void> => {
    if (!link.client.isReady) return;
    const { ssub } = await link.client.clientInfo();
    short = ssub !== undefined && ssub < expected() ? short + 1 : 0;
    if (short < AUDITS || !link.client.isReady) return;
    short = 0;
    logger.warn({ node: link.address }, 'the server has ended subscriptions; replacing the connection');
    link.replace();
  };
  // A failed command means that the connection broke.
  const timer = setInterval(() => void audit().catch(() => undefined), everyMs).unref();
  link.closed.addEventListener('abort', () => clearInterval(timer), { once: true });
}
