import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { CloseStack } from '@uswarm/service-kit';

/** Sees the data of one connection. */
export interface Tap {
  /** From the client to the server. */
  there?(data: Buffer): void;
  back?(data: Buffer): void;
}

/**
 * A TCP proxy that shows what passes.
 * @param target the server for a new connection; a connection without one is closed
 * @returns the host with the proxy's port
 */
export async function startTapProxy(
  target: () => string | undefined,
  tap: () => Tap,
  stack: CloseStack,
): Promise<string> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const server = createServer({ noDelay: true }, (client) => {
    keep(client);
    const to = target();
    if (to === undefined) {
      client.destroy();
      return;
    }
    const { hostname, port } = new URL(to);
    const upstream = connect({ port: Number(port), host: hostname, noDelay: true });
    keep(upstream);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
    const { there, back } = tap();
    if (there !== undefined) client.on('data', there);
    if (back !== undefined) upstream.on('data', back);
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, resolve));
  stack.defer('proxy', async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The URL with another host and port. */
export function redirect(url: string, host: string): string {
  const redirected = new URL(url);
  redirected.host = host;
  return redirected.href;
}
