import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Closes every connection at a random moment of the next `windowMs`, so that the clients do not all
 * come back at once; resolves when the last one was closed. Only the transport is closed: a client
 * that the namespace sends away would not reconnect by itself.
 */
export async function departAll(
  sockets: Iterable<{ conn: { close(): void } }>,
  windowMs: number,
  random = Math.random,
): Promise<void> {
  const leaving = [...sockets].map(async ({ conn }) => {
    if (windowMs > 0) await sleep(windowMs * random());
    conn.close();
  });
  await Promise.all(leaving);
}
