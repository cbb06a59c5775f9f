import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { ServerCertificate } from './certificate.js';

/** A forward proxy as in a company's network: CONNECT, and plain http with absolute URLs. */
export interface ForwardProxy {
  url: string;
  port: number;
  /** The `host:port` of each request, oldest first. */
  targets: string[];
  /** The Proxy-Authorization of each request. */
  authorizations: (string | undefined)[];
  close(): Promise<void>;
}

interface ForwardProxyOptions {
  /** Serves the proxy over TLS. */
  certificate?: ServerCertificate;
  /** `user:password` that each request needs. */
  credentials?: string;
  /** The port on this machine for a `host:port`. Default: the requested one. */
  portOf?: (target: string) => number | undefined;
  /** Answers every CONNECT with this status, or never. */
  fault?: number | 'hang';
}

/** Resolves every name to this machine, so that names which only the proxy can resolve prove that it was used. */
export async function startForwardProxy(options: ForwardProxyOptions = {}): Promise<ForwardProxy> {
  const { certificate, credentials, portOf, fault } = options;
  const targets: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const onwardPort = (target: string): number => portOf?.(target) ?? Number(target.split(':').at(-1));
  const note = ({ headers }: IncomingMessage, target: string): boolean => {
    const authorization = headers['proxy-authorization'];
    targets.push(target);
    authorizations.push(authorization);
    return credentials === undefined || authorization === `Basic ${Buffer.from(credentials).toString('base64')}`;
  };

  const forward: RequestListener = (incoming, outgoing) => {
    const url = new URL(incoming.url ?? '');
    const target = `${url.hostname}:${url.port || '80'}`;
    if (!note(incoming, target)) return void outgoing.writeHead(407).end();
    const { 'proxy-authorization': _, ...headers } = incoming.headers;
    const { method } = incoming;
    const path = `${url.pathname}${url.search}`;
    const onward = request({ host: '127.0.0.1', port: onwardPort(target), method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.writeHead(502).end());
    incoming.pipe(onward);
  };
  const server: Server =
    certificate === undefined
      ? createServer(forward)
      : createTlsServer({ cert: certificate.certificate, key: certificate.key }, forward);
  server.on(certificate === undefined ? 'connection' : 'secureConnection', keep);
  server.on('connect', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    const target = incoming.url ?? '';
    if (!note(incoming, target)) return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    if (fault === 'hang') return;
    if (fault !== undefined) return socket.end(`HTTP/1.1 ${fault} Refused\r\n\r\n`);
    const onward = keep(connect(onwardPort(target), '127.0.0.1'));
    onward.once('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    onward.once('error', () => void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    socket.once('close', () => onward.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    targets,
    authorizations,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
