import { setTimeout as sleep } from 'node:timers/promises';
import type { Http2SessionManager } from '@connectrpc/connect-node';

/** Time limits of the attempts in milliseconds. */
const ATTEMPTS = [100, 200, 200, 200, 200, 200, 200];

export interface EstablishDeps<Connection> {
  /** Returns the current connection, or a new one after `discard`. */
  open: () => Connection;
  discard: (connection: Connection) => void;
}

/**
 * Connects to a runtime that may just have become ready. Cluster networks can drop packets to a new pod for a moment.
 * TCP retransmits the first packet after a second, so a new connection is faster. If every attempt times out, the next
 * call connects with its own time limit.
 */
export async function establish<Connection extends { session: Pick<Http2SessionManager, 'state' | 'connect'> }>({
  open,
  discard,
}: EstablishDeps<Connection>): Promise<void> {
  for (const limitMs of ATTEMPTS) {
    const connection = open();
    const state = connection.session.state();
    if (state !== 'closed' && state !== 'error' && state !== 'connecting') return;
    const connected = await Promise.race([connection.session.connect(), sleep(limitMs)]);
    if (connected !== undefined) return;
    discard(connection);
  }
}
