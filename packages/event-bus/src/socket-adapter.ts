import { createShardedAdapter } from '@socket.io/redis-adapter';
import type { SessionEnd } from '@uswarm/contract';

/** Creates the adapter of a socket.io namespace, as the `adapter` option of a server takes it. */
export type SocketAdapter = ReturnType<typeof createShardedAdapter>;

/** Within the channels `ws:*` that the ACL user of the bus may use; no workspace id looks like it. */
const OPTIONS = { channelPrefix: 'ws:io', subscriptionMode: 'static' } as const;
/** The namespace of the realtime interface. */
const NAMESPACE = '/v1';
/** What servers of the namespace are told about sessions, with a `SessionEnd`. */
export const SESSION_END_EVENT = 'session.end';

/** The commands that the adapter needs, each with the caller's deadlines and retries. */
export interface AdapterCommands {
  publish(channel: string, message: string | Buffer): Promise<unknown>;
  /** Never rejects: the adapter does not look at the result. */
  subscribe(channel: string, listener: (message: Buffer, channel: Buffer) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  /** How many subscribers a sharded channel has, as `PUBSUB SHARDNUMSUB` answers. */
  command(args: readonly string[]): Promise<unknown>;
}

/** The adapter takes what looks like a client of node-redis; these are all of its methods that it calls. */
function clientOf({ publish, subscribe, unsubscribe, command }: AdapterCommands) {
  return { sPublish: publish, sSubscribe: subscribe, sUnsubscribe: unsubscribe, sendCommand: command };
}

/**
 * Joins the socket.io servers that use the same Redis. Only one channel for each server and namespace is subscribed,
 * and none for each room: rooms are used for counting and closing, not for workspace events.
 */
export function createSocketAdapter(commands: AdapterCommands): SocketAdapter {
  const client = clientOf(commands);
  return createShardedAdapter(client, client, OPTIONS);
}

/**
 * Speaks to those servers without being one: it subscribes to nothing, so that they neither count nor wait for it.
 * `@socket.io/redis-emitter` cannot: it does not know sharded channels.
 */
export function createSessionEndEmitter({ publish }: Pick<AdapterCommands, 'publish'>): (end: SessionEnd) => void {
  const client = clientOf({
    publish,
    subscribe: async () => undefined,
    unsubscribe: async () => undefined,
    command: async () => undefined,
  });
  // The adapter reads nothing else of a namespace as long as no socket joins it.
  const adapter = createShardedAdapter(client, client, OPTIONS)({ name: NAMESPACE, server: { encoder: undefined } });
  return (end) => void adapter.serverSideEmit([SESSION_END_EVENT, end]);
}
