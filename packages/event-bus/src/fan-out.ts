import type { Logger } from '@uswarm/service-kit';
import { decodeEnvelope } from './codec.js';
import type { BusOptions, EnvelopeListener, Unsubscribe } from './event-bus.js';

export type Receive = (text: string) => void;

/** The part of a bus that differs between implementations: one subscription a workspace. */
export interface Transport {
  /** Resolves once the texts of the workspace arrive at `receive`. */
  open(workspaceId: string, receive: Receive): Promise<void>;
  close(workspaceId: string, receive: Receive): void;
}

export interface FanOut {
  subscribe(workspaceId: string, listener: EnvelopeListener): Promise<Unsubscribe>;
  close(): void;
}

export interface FanOutDeps extends BusOptions {
  transport: Transport;
  logger: Pick<Logger, 'warn' | 'error'>;
}

interface Channel {
  /** Wrapped, so that the same function can be subscribed twice. */
  listeners: Set<{ listener: EnvelopeListener }>;
  receive: Receive;
  opened: Promise<void>;
}

/** Shares one subscription of the transport, and one validation, among all listeners of a workspace. */
export function createFanOut({ transport, logger, onInvalid }: FanOutDeps): FanOut {
  const channels = new Map<string, Channel>();
  let closed = false;

  const receiver =
    (workspaceId: string, listeners: Channel['listeners']): Receive =>
    (text) => {
      if (listeners.size === 0) return;
      const envelope = decodeEnvelope(text, workspaceId);
      if (envelope === undefined) {
        onInvalid?.();
        logger.warn({ workspaceId }, 'dropped an invalid envelope');
        return;
      }
      for (const { listener } of listeners) {
        try {
          listener(envelope);
        } catch (error) {
          logger.error({ err: error, workspaceId, event: envelope.event }, 'a listener failed');
        }
      }
    };

  const channelOf = (workspaceId: string): Channel => {
    const existing = channels.get(workspaceId);
    if (existing !== undefined) return existing;
    const listeners: Channel['listeners'] = new Set();
    const receive = receiver(workspaceId, listeners);
    const channel = { listeners, receive, opened: transport.open(workspaceId, receive) };
    channels.set(workspaceId, channel);
    return channel;
  };

  return {
    async subscribe(workspaceId, listener) {
      if (closed) throw new Error('the bus is closed');
      const channel = channelOf(workspaceId);
      const entry = { listener };
      channel.listeners.add(entry);
      const leave = (): void => {
        if (!channel.listeners.delete(entry) || channel.listeners.size > 0) return;
        if (channels.get(workspaceId) !== channel) return;
        channels.delete(workspaceId);
        transport.close(workspaceId, channel.receive);
      };
      try {
        await channel.opened;
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
    close() {
      closed = true;
      for (const { listeners } of channels.values()) listeners.clear();
      channels.clear();
    },
  };
}
