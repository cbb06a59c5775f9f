import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/** Below the ports that operating systems give to connections: one of those could take the port before the program does. */
const PORTS = { from: 15_000, to: 30_000 };
const ATTEMPTS = 1_000;

let last = randomInt(PORTS.from, PORTS.to);

/**
 * A free loopback port for programs that cannot choose one themselves. No other call returns the same port while this process
 * runs, in this process or another one, so that a program may listen later. A program that does not use this function can take it
 * first.
 *
 * @throws Error if no port is found
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    last = last + 1 < PORTS.to ? last + 1 : PORTS.from;
    const port = last;
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
  throw new Error('no free port was found');
}

/**
 * The UDP port with the same number, which nothing else uses, is the reservation: the system releases it with the
 * process.
 */
async function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once('error', () => {
    socket.close();
    resolve(false);
  });
  socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
  return promise;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  server.once('error', () => resolve(false));
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  return promise;
}
