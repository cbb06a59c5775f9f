import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ports that operating systems give to connections: one of those could take the port before the program does. */
const PORTS = { from: 15_000, to: 30_000 };
const ATTEMPTS = 100;

/**
 * A free loopback port for programs that cannot choose one themselves. Another program can take it first, so callers
 * retry with another port when it is in use.
 *
 * @throws Error if no port is found
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(PORTS.from, PORTS.to);
    if (await isFree(port)) return port;
  }
  throw new Error('no free port was found');
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  server.once('error', () => resolve(false));
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  return promise;
}
