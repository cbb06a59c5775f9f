import { type Logger, silentLogger } from '@uswarm/service-kit';
import { encodeEnvelope } from './codec.js';
import type { BusOptions, EventBus } from './event-bus.js';
import { createFanOut, type Receive } from './fan-out.js';

export interface MemoryBusOptions extends BusOptions {
  logger?: Logger;
}

/**
 * A bus within one process. Envelopes go through JSON as on the wire, so that both ends never
 * share an object and local mode drops what the real bus would drop.
 */
export function createMemoryBus({ logger = silentLogger, ...options }: MemoryBusOptions = {}): EventBus {
  const receivers = new Map<string, Receive>();
  let closed = false;
  const fanOut = createFanOut({
    ...options,
    logger,
    transport: {
      open: async (workspaceId, receive) => void receivers.set(workspaceId, receive),
      close: (workspaceId) => void receivers.delete(workspaceId),
    },
  });
  return {
    async publish(envelope) {
      const text = encodeEnvelope(envelope);
      // Later, as from a network: a publisher must not run its listeners' code.
      queueMicrotask(() => receivers.get(envelope.workspace_id)?.(text));
      return !closed;
    },
    subscribe: (workspaceId, listener) => fanOut.subscribe(workspaceId, listener),
    healthy: () => !closed,
    async close() {
      closed = true;
      fanOut.close();
      receivers.clear();
    },
  };
}
