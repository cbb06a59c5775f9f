import { Transform } from 'node:stream';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy that simulates network failures between a client and a server. */
export interface FaultInjectionProxy {
  /** Returns the URL with the proxy's host and port. */
  redirect(url: string): string;
  /** Closes all connections and refuses new ones. */
  disconnect(): Promise<void>;
  /** Accepts connections again. */
  restore(): Promise<void>;
  /** Connects new clients to another server. */
  retarget(url: string): void;
  /** Stops forwarding data, but keeps connections open and accepts new ones. */
  freeze(): void;
  thaw(): void;
  /** Discards what the server sends over the open connections, until they are closed. @returns their number */
  loseAnswers(): number;
  close(): Promise<void>;
}

/** Delays data by a constant time, without limiting its rate. */
function delayed(ms: number): Transform {
  return new Transform({
    highWaterMark: 64 * 1024 * 1024,
    transform(data: Buffer, _encoding, done) {
      setTimeout(() => this.push(data), ms);
      done();
    },
    flush: (done) => void setTimeout(done, ms),
  });
}

/** @param delayMs delay in each direction. Such a proxy does not freeze. Default: none */
export async function startFaultInjectionProxy(
  url: string,
  { delayMs }: { delayMs?: number } = {},
): Promise<FaultInjectionProxy> {
  let target = new URL(url);
  const sockets = new Set<Socket>();
  const pairs = new Map<Socket, Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };

  async function open(port: number): Promise<Server> {
    const server = createServer((client) => {
      const upstream = keep(connect(Number(target.port), target.hostname));
      keep(client).once('close', () => upstream.destroy());
      upstream.once('close', () => client.destroy());
      if (frozen) return;
      if (delayMs !== undefined) {
        client.pipe(delayed(delayMs)).pipe(upstream);
        upstream.pipe(delayed(delayMs)).pipe(client);
        return;
      }
      client.pipe(upstream);
      upstream.pipe(client);
      pairs.set(client, upstream);
      client.once('close', () => pairs.delete(client));
    });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
    return server;
  }

  let frozen = false;
  let server: Server | undefined = await open(0);
  const { port } = server.address() as AddressInfo;

  async function disconnect(): Promise<void> {
    const closing = server;
    server = undefined;
    if (closing === undefined) return;
    const closed = new Promise((resolve) => closing.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  return {
    redirect(original) {
      const redirected = new URL(original);
      redirected.host = `127.0.0.1:${port}`;
      return redirected.href;
    },
    disconnect,
    async restore() {
      server ??= await open(port);
    },
    retarget(other) {
      target = new URL(other);
    },
    freeze() {
      frozen = true;
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream).pause();
        upstream.unpipe(client).pause();
      }
    },
    thaw() {
      // A second pipe between two sockets would send all data twice.
      if (!frozen) return;
      frozen = false;
      for (const [client, upstream] of pairs) {
        client.pipe(upstream);
        upstream.pipe(client);
      }
    },
    loseAnswers() {
      for (const [client, upstream] of pairs) upstream.unpipe(client).resume();
      return pairs.size;
    },
    close: disconnect,
  };
}
