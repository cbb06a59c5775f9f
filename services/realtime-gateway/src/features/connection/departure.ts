import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Closes every connection at a random moment of the next `windowMs`, so that the clients do not all
 * reconnect at the same time; resolves when the last one was closed.
 */
export async function departAll<Leaving>(
  sockets: Iterable<Leaving>,
  windowMs: number,
  close: (socket: Leaving) => void,
  random = Math.random,
): Promise<void> {
  const leaving = [...sockets].map(async (socket) => {
    if (windowMs > 0) await sleep(windowMs * random());
    close(socket);
  });
  await Promise.all(leaving);
}
