import type { IncomingMessage } from 'node:http';
import { addressKey, type ClientAddress } from '@uswarm/service-kit';
import type { Timers } from '../../timers.js';
import { type LimitedConnection, limitPackets } from './packet-limit.js';

/** An unauthenticated engine.io connection. */
export interface PendingConnection extends LimitedConnection {
  request: IncomingMessage;
  once(event: 'close', listener: () => void): unknown;
  close(): void;
}

export interface PendingConnectionsDeps {
  clientAddress: ClientAddress;
  /** Maximum number of unauthenticated connections per address (per /64 network for IPv6); 0 disables the limit. */
  perAddress: number;
  /** Maximum packet bytes before and after authentication. */
  packetBytes: { bytes: number; usual: number };
  /** Milliseconds from the connection until the credentials must arrive. */
  timeoutMs: number;
  timers: Timers;
}

/** Tracks unauthenticated connections. */
export interface PendingConnections {
  /** True if the request's address has reached its limit. */
  full(request: IncomingMessage): boolean;
  /** Counts a connection until it is authenticated or closed, and closes it if the credentials do not arrive in time. */
  add(conn: PendingConnection): void;
  /**
   * The credentials arrived: stops the timeout.
   *
   * @returns false if the connection is authenticated or closed, or if its credentials are being checked already
   */
  credentialsReceived(conn: object): boolean;
  authenticated(conn: object): void;
  /** The client may send other credentials. */
  refused(conn: object): void;
}

interface Entry {
  liftPacketLimit: () => void;
  stopTimeout: () => void;
  isChecking: boolean;
  remove: () => void;
}

export function createPendingConnections({
  clientAddress,
  perAddress,
  packetBytes,
  timeoutMs,
  timers,
}: PendingConnectionsDeps): PendingConnections {
  const counts = new Map<string, number>();
  const entries = new WeakMap<object, Entry>();

  return {
    full: (request) => perAddress > 0 && (counts.get(addressKey(clientAddress(request))) ?? 0) >= perAddress,
    add(conn) {
      const key = addressKey(clientAddress(conn.request));
      counts.set(key, (counts.get(key) ?? 0) + 1);
      const stopTimeout = timers.after(timeoutMs, () => conn.close());
      const remove = (): void => {
        stopTimeout();
        conn.off('close', remove);
        if (!entries.delete(conn)) return;
        const remaining = (counts.get(key) ?? 0) - 1;
        if (remaining > 0) counts.set(key, remaining);
        else counts.delete(key);
      };
      entries.set(conn, { stopTimeout, isChecking: false, remove, liftPacketLimit: limitPackets(conn, packetBytes) });
      conn.once('close', remove);
    },
    credentialsReceived(conn) {
      const entry = entries.get(conn);
      if (entry === undefined || entry.isChecking) return false;
      entry.isChecking = true;
      entry.stopTimeout();
      return true;
    },
    authenticated(conn) {
      const entry = entries.get(conn);
      entry?.liftPacketLimit();
      entry?.remove();
    },
    refused(conn) {
      const entry = entries.get(conn);
      if (entry !== undefined) entry.isChecking = false;
    },
  };
}
