import { createShardedAdapter } from '@socket.io/redis-adapter';
import type { SessionEnd, UserEvent } from '@uswarm/contract';

/** Creates a socket.io adapter; the value of a server's `adapter` option. */
export type SocketAdapter = ReturnType<typeof createShardedAdapter>;

/** The bus user's ACL allows the channels `ws:*`. The prefix does not collide with workspace channels. */
const OPTIONS = { channelPrefix: 'ws:io', subscriptionMode: 'static' } as const;
/** Realtime namespace. */
const NAMESPACE = '/v1';
/** Server-side namespace event for ended sessions; its argument is a `SessionEnd`. */
export const SESSION_END_EVENT = 'session.end';
/** Server-side namespace event for a user's sockets; its argument is a `UserEvent`. */
export const USER_EVENT = 'user.event';

/** The commands that the adapter needs. The caller adds deadlines and retries. */
export interface AdapterCommands {
  publish(channel: string, message: string | Buffer): Promise<unknown>;
  /** Must not reject: the adapter ignores the result. */
  subscribe(channel: string, listener: (message: Buffer, channel: Buffer) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  /** Runs `PUBSUB SHARDNUMSUB`, which returns the number of subscribers on a sharded channel. */
  command(args: readonly string[]): Promise<unknown>;
}

/** The adapter expects a client of node-redis, but calls only these methods. */
function clientOf({ publish, subscribe, unsubscribe, command }: AdapterCommands) {
  return { sPublish: publish, sSubscribe: subscribe, sUnsubscribe: unsubscribe, sendCommand: command };
}

/**
 * Connects the socket.io servers that use the same Redis. It subscribes to one channel per server and namespace, and
 * to none per room: rooms are only used to count and close sockets, not for workspace events.
 */
export function createSocketAdapter(commands: AdapterCommands): SocketAdapter {
  const client = clientOf(commands);
  return createShardedAdapter(client, client, OPTIONS);
}

export interface GatewayEmitter {
  sessionEnd(end: SessionEnd): void;
  userEvent(event: UserEvent): void;
}

/**
 * Sends events to these servers without a subscription, so that they neither count nor await this process.
 * `@socket.io/redis-emitter` does not support sharded channels.
 */
export function createGatewayEmitter({ publish }: Pick<AdapterCommands, 'publish'>): GatewayEmitter {
  const client = clientOf({
    publish,
    subscribe: async () => undefined,
    unsubscribe: async () => undefined,
    command: async () => undefined,
  });
  // The adapter uses no other namespace fields if there are no sockets.
  const adapter = createShardedAdapter(client, client, OPTIONS)({ name: NAMESPACE, server: { encoder: undefined } });
  return {
    sessionEnd: (end) => void adapter.serverSideEmit([SESSION_END_EVENT, end]),
    userEvent: (event) => void adapter.serverSideEmit([USER_EVENT, event]),
  };
}
