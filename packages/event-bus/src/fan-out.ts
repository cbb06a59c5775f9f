import type { Logger } from '@uswarm/service-kit';
import type { BusOptions, Unsubscribe } from './event-bus.js';

export type Receive = (text: string) => void;

/** The part of a bus that differs between implementations, with one subscription per channel. */
export interface Transport {
  /** Resolves when the subscription is active; `receive` then gets the texts of the channel. */
  open(channel: string, receive: Receive): Promise<void>;
  close(channel: string, receive: Receive): void;
}

export interface FanOut<Message> {
  subscribe(channel: string, listener: (message: Message) => void): Promise<Unsubscribe>;
  close(): void;
}

export interface FanOutDeps<Message> extends BusOptions {
  transport: Transport;
  /** Returns `undefined` for anything that is not a message of this channel. */
  decode: (text: string, channel: string) => Message | undefined;
  logger: Pick<Logger, 'warn' | 'error'>;
}

interface Channel<Message> {
  /** Wrapped, so that the same function can subscribe twice. */
  listeners: Set<{ listener: (message: Message) => void }>;
  receive: Receive;
  opened: Promise<void>;
}

/** Shares one transport subscription, and one validation per message, among all listeners of a channel. */
export function createFanOut<Message>({ transport, decode, logger, onInvalid }: FanOutDeps<Message>): FanOut<Message> {
  const channels = new Map<string, Channel<Message>>();
  let closed = false;

  const receiver =
    (channel: string, listeners: Channel<Message>['listeners']): Receive =>
    (text) => {
      if (listeners.size === 0) return;
      const message = decode(text, channel);
      if (message === undefined) {
        onInvalid?.();
        logger.warn({ channel }, 'dropped an invalid envelope');
        return;
      }
      for (const { listener } of listeners) {
        try {
          listener(message);
        } catch (error) {
          logger.error({ err: error, channel }, 'a listener failed');
        }
      }
    };

  const channelOf = (name: string): Channel<Message> => {
    const existing = channels.get(name);
    if (existing !== undefined) return existing;
    const listeners: Channel<Message>['listeners'] = new Set();
    const receive = receiver(name, listeners);
    const channel = { listeners, receive, opened: transport.open(name, receive) };
    channels.set(name, channel);
    return channel;
  };

  return {
    async subscribe(name, listener) {
      if (closed) throw new Error('the bus is closed');
      const channel = channelOf(name);
      const entry = { listener };
      channel.listeners.add(entry);
      const unsubscribe = (): void => {
        if (!channel.listeners.delete(entry) || channel.listeners.size > 0) return;
        if (channels.get(name) !== channel) return;
        channels.delete(name);
        transport.close(name, channel.receive);
      };
      try {
        await channel.opened;
      } catch (error) {
        unsubscribe();
        throw error;
      }
      return unsubscribe;
    },
    close() {
      closed = true;
      for (const { listeners } of channels.values()) listeners.clear();
      channels.clear();
    },
  };
}

/** The channel of all session ends. It is not a valid workspace id. */
export const SESSIONS = 'sessions';
/** The channel of events of users, in one process. */
export const USERS = 'users';
/** The channel of hints between orchestrators. */
export const HINTS = 'hints';
