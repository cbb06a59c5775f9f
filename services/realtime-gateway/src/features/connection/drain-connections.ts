import { setTimeout as sleep } from 'node:timers/promises';

export interface DrainRate {
  /** Connections to close per second; 0 disables the limit. */
  perSecond: number;
  /** Milliseconds within which all connections are closed, however many there are. */
  windowMs: number;
}

/**
 * Closes each connection at a random time, at the given average rate, so that clients do not all reconnect at the same time.
 * Resolves when the last connection is closed.
 */
export async function drainConnections<Connection>(
  sockets: Iterable<Connection>,
  { perSecond, windowMs }: DrainRate,
  close: (socket: Connection) => void,
  random = Math.random,
): Promise<void> {
  const connections = [...sockets];
  const spread = perSecond === 0 ? 0 : Math.min(windowMs, (connections.length / perSecond) * 1_000);
  const draining = connections.map(async (socket) => {
    if (spread > 0) await sleep(spread * random());
    close(socket);
  });
  await Promise.all(draining);
}
