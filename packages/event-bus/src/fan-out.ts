import type { Logger } from '@uswarm/service-kit';
import type { BusOptions, Unsubscribe } from './event-bus.js';

export type Receive = (text: string) => void;

/** The implementation-specific part of a bus, with one subscription per channel. */
export interface Transport {
  /** Resolves when the subscription is active; `receive` then gets the channel's texts. */
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
  /**
   * Wrapped, so that the same function can subscribe twice. Replaced with each change: most channels have one listener, and a
   * Set is much larger.
   */
  listeners: readonly { listener: (message: Message) => void }[];
  receive: Receive;
  opened: Promise<void>;
}

/** Shares one transport subscription, and one validation per message, among all listeners on a channel. */
export function createFanOut<Message>({ transport, decode, logger, onInvalid }: FanOutDeps<Message>): FanOut<Message> {
  const channels = new Map<string, Channel<Message>>();
  let closed = false;

  const deliver = (name: string, channel: Channel<Message>, text: string): void => {
    if (channel.listeners.length === 0) return;
    const message = decode(text, name);
    if (message === undefined) {
      onInvalid?.();
      logger.warn({ channel: name }, 'dropped an invalid envelope');
      return;
    }
    for (const entry of channel.listeners) {
      // A listener may end the subscription of another one.
      if (!channel.listeners.includes(entry)) continue;
      try {
        entry.listener(message);
      } catch (error) {
        logger.error({ err: error, channel: name }, 'a listener failed');
      }
    }
  };

  const channelOf = (name: string): Channel<Message> => {
    const existing = channels.get(name);
    if (existing !== undefined) return existing;
    const receive: Receive = (text) => deliver(name, channel, text);
    const channel: Channel<Message> = { listeners: [], receive, opened: transport.open(name, receive) };
    channels.set(name, channel);
    return channel;
  };

  return {
    async subscribe(name, listener) {
      if (closed) throw new Error('the bus is closed');
      const channel = channelOf(name);
      const entry = { listener };
      channel.listeners = [...channel.listeners, entry];
      const unsubscribe = (): void => {
        if (!channel.listeners.includes(entry)) return;
        channel.listeners = channel.listeners.filter((other) => other !== entry);
        if (channel.listeners.length > 0) return;
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
      for (const channel of channels.values()) channel.listeners = [];
      channels.clear();
    },
  };
}

/** The channel of all session ends. It is not a valid workspace id. */
export const SESSIONS = 'sessions';
/** Channel for user events, in one process. */
export const USERS = 'users';
/** The channel of signals between orchestrators. */
export const SIGNALS = 'signals';
