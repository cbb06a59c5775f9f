// The peers are in the cluster, and the proxy takes an agent of node:http.
// oxlint-disable-next-line no-restricted-imports
import { Agent, type ClientRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { createProxyServer } from 'httpxy';
import type { GatewayMetrics } from '../../metrics/gateway-metrics.js';
import { intercept } from '../../intercept.js';
import type { SessionIds } from './session-ids.js';

export interface PeerSessionsDeps {
  /** Its present listeners handle this gateway's sessions. */
  httpServer: Pick<Server, 'listeners' | 'removeAllListeners' | 'on'>;
  ids: Pick<SessionIds, 'ownerOf'>;
  metrics: Pick<GatewayMetrics, 'forwarding' | 'forwardFailures'>;
}

export interface PeerSessions {
  /** Requests and WebSockets that are being forwarded. */
  open(): Iterable<{ destroy(): void }>;
}

/** A pod that no longer exists does not respond at all. */
const CONNECT_MS = 2_000;
/** A poll lasts until the next event, or until the next ping after 25 s. */
const RESPONSE_MS = 60_000;
/** A forwarded request is never forwarded again, also if a gateway now has another address than its sessions name. */
const FORWARDED_HEADER = 'x-gateway-forwarded';

/** engine.io's response for a session that has ended: the client then connects again. */
const UNKNOWN_SESSION = JSON.stringify({ code: 1, message: 'Session ID unknown' });

/**
 * Forwards the requests of engine.io sessions that another gateway has. A client that begins with polling sends several
 * requests, and without a cookie a load balancer sends them to any gateway. A request without a session is never forwarded.
 * See docs/adr/0049-forward-polling-sessions-to-their-gateway.md.
 */
export function forwardPeerSessions({ httpServer, ids, metrics }: PeerSessionsDeps): PeerSessions {
  // Without a limit: each polling client has a request open.
  const agent = new Agent({ keepAlive: true });
  const proxy = createProxyServer({ agent, proxyTimeout: RESPONSE_MS, headers: { [FORWARDED_HEADER]: '1' } });
  const forwarded = new Set<ServerResponse | Duplex>();

  function track(connection: ServerResponse | Duplex): void {
    forwarded.add(connection);
    metrics.forwarding.inc();
    connection.once('close', () => {
      forwarded.delete(connection);
      metrics.forwarding.dec();
    });
  }
  const ownerOf = (request: IncomingMessage): string | undefined => {
    const sessionId = sessionIdOf(request.url);
    return sessionId === undefined || FORWARDED_HEADER in request.headers ? undefined : ids.ownerOf(sessionId);
  };

  proxy.on('proxyReq', (request) => limitConnect(request as ClientRequest));
  proxy.on('proxyReqWs', (request) => limitConnect(request as ClientRequest));
  proxy.on('error', (_error, _request, response) => {
    metrics.forwardFailures.inc();
    if (!isResponse(response)) (response as Duplex).destroy();
    else if (response.headersSent) response.destroy();
    else response.writeHead(400, { 'content-type': 'application/json' }).end(UNKNOWN_SESSION);
  });

  intercept(httpServer, 'request', (request, response: ServerResponse) => {
    const owner = ownerOf(request);
    if (owner === undefined) return false;
    track(response);
    void proxy.web(request, response, { target: `http://${owner}` });
    return true;
  });
  intercept(httpServer, 'upgrade', (request, socket: Duplex, head: Buffer) => {
    const owner = ownerOf(request);
    if (owner === undefined) return false;
    track(socket);
    void proxy.ws(request, socket as never, { target: `http://${owner}`, agent: false as never }, head);
    return true;
  });
  return { open: () => forwarded };
}

/** Only the query can have it; most URLs come from WebSocket clients, which have none. */
function sessionIdOf(url = ''): string | undefined {
  return url.includes('sid=') ? (URL.parse(url, 'http://gateway')?.searchParams.get('sid') ?? undefined) : undefined;
}

const isResponse = (response: unknown): response is ServerResponse =>
  typeof (response as Partial<ServerResponse>).writeHead === 'function';

function limitConnect(request: ClientRequest): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(() => request.destroy(new Error('the gateway cannot be reached')), CONNECT_MS);
    for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(timer));
  });
}
