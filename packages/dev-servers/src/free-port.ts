import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ports that operating systems give to connections: one of those could take the port before the program does. */
const PORTS = { from: 15_000, to: 30_000 };
/** Processes that run at the same time have different shares, unless their ids differ by a multiple of their number. */
const SHARES = 100;
const SHARE = (PORTS.to - PORTS.from) / SHARES;

let last = randomInt(SHARE);

/**
 * A free loopback port for programs that cannot choose one themselves. Calls return different ports, so that a program may listen
 * later. Another program can take it first.
 *
 * @throws Error if no port is found
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < SHARE; attempt += 1) {
    last = (last + 1) % SHARE;
    const port = PORTS.from + (process.pid % SHARES) * SHARE + last;
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
