import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A server on one loopback port that can be closed and opened again. */
export interface RestartableServer {
  port: number;
  /** Closes all connections and refuses new ones. */
  close(): Promise<void>;
  open(): Promise<void>;
}

export async function startRestartableServer(listener: RequestListener): Promise<RestartableServer> {
  const sockets = new Set<Socket>();
  const listen = async (port: number): Promise<Server> => {
    const started = createServer(listener);
    started.on('connection', (socket: Socket) => {
      sockets.add(socket.once('close', () => sockets.delete(socket)));
    });
    await new Promise<void>((resolve, reject) => started.once('error', reject).listen(port, '127.0.0.1', resolve));
    return started;
  };
  let server: Server | undefined = await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async open() {
      server ??= await listen(port);
    },
    async close() {
      const closing = server;
      server = undefined;
      if (closing === undefined) return;
      const closed = new Promise((resolve) => closing.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
