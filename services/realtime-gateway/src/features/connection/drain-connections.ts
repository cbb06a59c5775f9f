import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Closes each connection at a random time within `windowMs`, so that clients do not all reconnect at the same time.
 * Resolves when the last connection is closed.
 */
export async function drainConnections<Connection>(
  sockets: Iterable<Connection>,
  windowMs: number,
  close: (socket: Connection) => void,
  random = Math.random,
): Promise<void> {
  const draining = [...sockets].map(async (socket) => {
    if (windowMs > 0) await sleep(windowMs * random());
    close(socket);
  });
  await Promise.all(draining);
}
