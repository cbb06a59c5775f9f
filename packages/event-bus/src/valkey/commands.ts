import { parseValkeyUrl } from '@uswarm/service-kit';
import { connectToPrimaries } from './connections.js';
import type { ConnectionLog, LinkTiming } from './link.js';
import { createTopology } from './topology.js';

export interface ValkeyOptions {
  /** See `parseValkeyUrl`. */
  url: string;
  /** The connections' name at the server. */
  name: string;
  timing: LinkTiming;
  /** Called when a connection is lost or cannot be opened. */
  onError: (error: unknown) => void;
}

/** The part of node-redis' client that `rate-limiter-flexible` uses, for one server, a cluster or sentinels. */
export interface ValkeyCommands {
  /** True while all primaries are connected. */
  readonly isReady: boolean;
  /** @param options `keys`: exactly one, which selects the node. @throws immediately if the node is not connected */
  eval(script: string, options: { keys: [string]; arguments: string[] }): Promise<unknown>;
  close(): void;
}

/** Connects in the background. @throws Error if the URL is malformed */
export function connectValkey({ url, name, timing, onError }: ValkeyOptions): ValkeyCommands {
  const target = parseValkeyUrl(url);
  const log: ConnectionLog = {
    disconnected: (_about, error) => onError(error),
    reconnected: () => undefined,
    unresponsive: () => onError(new Error('Redis does not answer')),
  };
  const topology = createTopology({ target, name, log });
  const connections = connectToPrimaries(topology, { target, name, role: 'commands', log, timing });
  return {
    get isReady() {
      return connections.ready();
    },
    eval: (script, options) => connections.run(options.keys[0], (client) => client.eval(script, options)),
    close() {
      topology.close();
      void connections.close();
    },
  };
}
