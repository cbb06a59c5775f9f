import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A way to Postgres that can be cut, as a network does. */
export interface DatabaseProxy {
  /** The URL by which the database is reached through the proxy. */
  redirect(databaseUrl: string): string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
}

export async function startDatabaseProxy(): Promise<DatabaseProxy> {
  const target = new URL(process.env['TEST_POSTGRES_URL'] ?? '');
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };

  async function open(port: number): Promise<Server> {
    const server = createServer((client) => {
      const upstream = keep(connect(Number(target.port), target.hostname));
      keep(client)
        .once('close', () => upstream.destroy())
        .pipe(upstream);
      upstream.once('close', () => client.destroy()).pipe(client);
    });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
    return server;
  }

  let server: Server | undefined = await open(0);
  const { port } = server.address() as AddressInfo;

  async function cut(): Promise<void> {
    const closing = server;
    server = undefined;
    if (closing === undefined) return;
    const closed = new Promise((resolve) => closing.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  return {
    redirect(databaseUrl) {
      const url = new URL(databaseUrl);
      url.host = `127.0.0.1:${port}`;
      return url.href;
    },
    cut,
    async mend() {
      server ??= await open(port);
    },
    close: cut,
  };
}
