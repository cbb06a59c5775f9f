import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import type { CloseStack } from '@uswarm/service-kit';

/** Delays data by a constant time, without limiting its rate. */
function delayed(ms: number): Transform {
  return new Transform({
    highWaterMark: 64 * 1024 * 1024,
    transform(data: Buffer, _encoding, done) {
      if (ms === 0) this.push(data);
      else setTimeout(() => this.push(data), ms);
      done();
    },
  });
}

/**
 * A TCP proxy that adds a delay to each round trip.
 * @param delays milliseconds to the server and back. Without a delay, the proxy itself takes about 0.2 ms.
 * @returns the URL with the proxy's host and port
 */
export async function startDelayingProxy(
  url: string,
  [there, back]: readonly [number, number],
  stack: CloseStack,
): Promise<string> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: Number(target.port), host: target.hostname, noDelay: true });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .once('close', () => {
          sockets.delete(socket);
          other.destroy();
        });
    }
    client.pipe(delayed(there)).pipe(upstream);
    upstream.pipe(delayed(back)).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer('delaying proxy', async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const proxied = new URL(url);
  proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxied.href;
}
