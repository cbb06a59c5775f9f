import { type Logger, silentLogger } from '@uswarm/service-kit';
import {
  decodeEnvelope,
  decodeSignal,
  decodeSessionEnd,
  decodeUserEvent,
  encodeEnvelope,
  encodeSessionEnd,
} from './codec.js';
import type { BusOptions, EventBus } from './event-bus.js';
import { createFanOut, SIGNALS, type Receive, SESSIONS, type Transport, USERS } from './fan-out.js';

export interface MemoryBusOptions extends BusOptions {
  logger?: Logger;
}

/**
 * A bus within one process. Envelopes are serialized as on the wire, so that publishers and listeners share no objects,
 * and local mode drops the same invalid envelopes as the Redis bus.
 */
export function createMemoryBus({ logger = silentLogger, ...options }: MemoryBusOptions = {}): EventBus {
  const receivers = new Map<string, Receive>();
  let closed = false;
  const transport: Transport = {
    open: async (channel, receive) => void receivers.set(channel, receive),
    close: (channel) => void receivers.delete(channel),
  };
  const envelopes = createFanOut({ ...options, logger, transport, decode: decodeEnvelope });
  const sessionEnds = createFanOut({ ...options, logger, transport, decode: decodeSessionEnd });
  const userEvents = createFanOut({ ...options, logger, transport, decode: decodeUserEvent });
  const signals = createFanOut({ ...options, logger, transport, decode: decodeSignal });
  const send = async (channel: string, text: string): Promise<boolean> => {
    // Asynchronous, as on a network: `publish` must not run the code of listeners.
    queueMicrotask(() => receivers.get(channel)?.(text));
    return !closed;
  };
  return {
    // All listeners are in this process, so they read the newest version.
    publish: (envelope) => send(envelope.workspace_id, encodeEnvelope(envelope, 2)),
    subscribe: (workspaceId, listener) => envelopes.subscribe(workspaceId, listener),
    publishSessionEnd: (end) => send(SESSIONS, encodeSessionEnd(end)),
    onSessionEnd: (listener) => sessionEnds.subscribe(SESSIONS, listener),
    publishUserEvent: (event) => void send(USERS, JSON.stringify(event)),
    onUserEvent: (listener) => userEvents.subscribe(USERS, listener),
    onReconnect: () => () => undefined,
    publishSignal: (topic) => send(SIGNALS, topic),
    onSignal: (listener) => signals.subscribe(SIGNALS, listener),
    healthy: () => !closed,
    async close() {
      closed = true;
      envelopes.close();
      sessionEnds.close();
      userEvents.close();
      signals.close();
      receivers.clear();
    },
  };
}
