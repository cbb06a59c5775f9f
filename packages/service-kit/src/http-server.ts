import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { type BodyRules, endSlowBodies } from './slow-bodies.js';

export interface ListenOptions {
  /** Default: all addresses, of IPv4 and of IPv6. */
  host?: string | undefined;
  port: number;
  /** Milliseconds for the request headers. Default: 15 s */
  headersTimeoutMs?: number;
  /** Milliseconds that a request may take to arrive with its body. Default: 5 min */
  requestTimeoutMs?: number;
  /** How fast bodies must arrive; default: 15 seconds without a byte, and 1 KiB per second. */
  bodies?: BodyRules;
}

const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 300_000;
/** The interval at which Node checks these timeouts. */
const TIMEOUT_CHECK_MS = 1_000;

export interface RunningServer {
  server: Server;
  port: number;
  url: string;
  /** Stops accepting connections, waits for requests in flight, then closes the remaining connections. */
  close(graceMs?: number): Promise<void>;
}

/** Opens the port. @returns its number @throws the listen error (`EADDRINUSE`, …) */
export function openPort(server: NetServer, { host, port }: Pick<ListenOptions, 'host' | 'port'>): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      // A connection that cannot be accepted, for example without a free file descriptor, must not end the process.
      server.on('error', () => undefined);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Starts listening and resolves when the port is open. @throws the listen error (`EADDRINUSE`, …) */
export async function listen(handler: RequestListener | Server, options: ListenOptions): Promise<RunningServer> {
  const { host, port, headersTimeoutMs = HEADERS_TIMEOUT_MS, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options;
  const server =
    typeof handler === 'function' ? createServer({ connectionsCheckingInterval: TIMEOUT_CHECK_MS }, handler) : handler;
  server.headersTimeout = headersTimeoutMs;
  server.requestTimeout = requestTimeoutMs;
  const connections = openConnections(server);
  const lastAnswers = endConnectionsWithAnswers(server);
  server.once('close', endSlowBodies(server, options.bodies));
  const bound = await openPort(server, { host, port });
  const shownHost = host === undefined || host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return {
    server,
    port: bound,
    url: `http://${shownHost}:${bound}`,
    close: (graceMs = 5_000) =>
      new Promise<void>((resolve) => {
        const force = setTimeout(() => {
          for (const connection of connections) connection.destroy();
        }, graceMs);
        server.close(() => {
          clearTimeout(force);
          resolve();
        });
        lastAnswers();
        server.closeIdleConnections();
      }),
  };
}

/**
 * @returns a function that adds `Connection: close` to all further responses, so that clients do not reuse
 * connections that are about to be closed
 */
function endConnectionsWithAnswers(server: Server): () => void {
  const open = new Set<ServerResponse>();
  let closing = false;
  const last = (response: ServerResponse): void => {
    if (!response.headersSent) response.setHeader('Connection', 'close');
  };
  server.prependListener('request', (_request, response) => {
    if (closing) last(response);
    open.add(response);
    response.once('close', () => {
      open.delete(response);
      // The response headers may have been sent without `Connection: close`.
      if (closing) setImmediate(() => server.closeIdleConnections());
    });
  });
  return () => {
    closing = true;
    for (const response of open) last(response);
  };
}

/** Tracks all connections, because the server does not track upgraded ones (WebSocket). */
function openConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on('connection', (connection: Socket) => {
    open.add(connection);
    connection.once('close', () => open.delete(connection));
  });
  return open;
}
