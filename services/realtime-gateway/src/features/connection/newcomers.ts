import type { IncomingMessage } from 'node:http';
import { addressKey, type ClientAddress } from '@uswarm/service-kit';
import type { Timers } from '../../timers.js';

/** A connection of engine.io that has not shown who it belongs to. */
export interface NewConnection {
  request: IncomingMessage;
  once(event: 'close', listener: () => void): unknown;
  close(): void;
}

export interface NewcomersDeps {
  clientAddress: ClientAddress;
  /** Unauthenticated connections of one address (of IPv6: of one /64 network); 0 disables the limit. */
  perAddress: number;
  /** Milliseconds from the connection to the credentials. */
  timeoutMs: number;
  timers: Timers;
}

/** The connections that are not authenticated yet. */
export interface Newcomers {
  /** Whether the address of the request has reached its limit. */
  full(request: IncomingMessage): boolean;
  /** Counts a connection until it is authenticated or closed; closes it when no credentials come. */
  enter(conn: NewConnection): void;
  /** Its credentials came; it may take as long as it needs from now on. */
  asked(conn: object): void;
  authenticated(conn: object): void;
}

interface Newcomer {
  stopClock: () => void;
  leave: () => void;
}

export function createNewcomers({ clientAddress, perAddress, timeoutMs, timers }: NewcomersDeps): Newcomers {
  const counts = new Map<string, number>();
  const newcomers = new WeakMap<object, Newcomer>();

  return {
    full: (request) => perAddress > 0 && (counts.get(addressKey(clientAddress(request))) ?? 0) >= perAddress,
    enter(conn) {
      const key = addressKey(clientAddress(conn.request));
      counts.set(key, (counts.get(key) ?? 0) + 1);
      const stopClock = timers.after(timeoutMs, () => conn.close());
      const leave = (): void => {
        stopClock();
        if (!newcomers.delete(conn)) return;
        const left = (counts.get(key) ?? 0) - 1;
        if (left > 0) counts.set(key, left);
        else counts.delete(key);
      };
      newcomers.set(conn, { stopClock, leave });
      conn.once('close', leave);
    },
    asked: (conn) => newcomers.get(conn)?.stopClock(),
    authenticated: (conn) => newcomers.get(conn)?.leave(),
  };
}
