import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { frameLength, isShardedMessage } from './resp.js';

/** A proxy in front of Valkey that loses or delays what the server sends. */
export interface BusProxy {
  url: string;
  /** The share of bus messages that are dropped, 0 to 1. */
  drop(share: number): void;
  /** Delays everything that the server sends. */
  delay(ms: number): void;
  /** Closes all connections, and closes new ones immediately. */
  cut(): void;
  /** Ends all faults. */
  heal(): void;
  close(): Promise<void>;
}

/** @param random returns the next number from 0 to 1, so that a schedule can be repeated */
export async function startBusProxy(url: string, random: () => number): Promise<BusProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const faults = { share: 0, delayMs: 0, isCut: false };

  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const send = (client: Socket, data: Buffer): void => {
    if (faults.delayMs === 0) client.write(data);
    else setTimeout(() => client.destroyed || client.write(data), faults.delayMs).unref();
  };
  /** Splits the stream into protocol replies, to drop whole messages only. */
  function forward(server: Socket, client: Socket): void {
    let rest = Buffer.alloc(0);
    server.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      const kept: Buffer[] = [];
      for (let length = frameLength(rest); length !== undefined; length = frameLength(rest)) {
        const frame = rest.subarray(0, length);
        rest = rest.subarray(length);
        if (faults.share === 0 || !isShardedMessage(frame) || random() >= faults.share) kept.push(frame);
      }
      if (kept.length > 0) send(client, Buffer.concat(kept));
    });
  }

  const server = createServer((client) => {
    if (faults.isCut) {
      client.on('error', () => undefined).destroy();
      return;
    }
    const upstream = keep(connect(Number(target.port), target.hostname));
    keep(client).once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
    client.pipe(upstream);
    forward(upstream, client);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));

  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    drop(share) {
      faults.share = share;
    },
    delay(ms) {
      faults.delayMs = ms;
    },
    cut() {
      faults.isCut = true;
      destroyAll();
    },
    heal() {
      Object.assign(faults, { share: 0, delayMs: 0, isCut: false });
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      destroyAll();
      await closed;
    },
  };
}
