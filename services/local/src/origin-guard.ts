import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { allowCaller } from '@uswarm/service-kit/cors';
import { refuseForeignHost } from './host-guard.js';

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Returns true if a request comes from a page whose developer uses this local mode, or from no page. */
export type TrustsOrigin = (request: Pick<IncomingMessage, 'headers'>) => boolean;

/**
 * Trusts pages on this machine, on any port, pages whose host is also the request's host (a development server that a
 * phone opens), and the listed origins. A request's host is `localhost` or an address of this machine
 * (`isTrustedHost`), so no other machine has a page with the same one.
 */
export function createOriginRule(listed: readonly string[]): TrustsOrigin {
  return ({ headers: { origin, host } }) => {
    if (origin === undefined || listed.includes('*') || listed.includes(origin)) return true;
    const page = URL.parse(origin);
    // A browser sends the normalized form. Custom schemes have the origin "null".
    if (page === null || page.origin !== origin || !/^https?:$/.test(page.protocol)) return false;
    return LOOPBACK.has(page.hostname) || page.hostname === URL.parse(`http://${host}`)?.hostname;
  };
}

/**
 * Refuses pages from other sites. They could otherwise act as any user, because the development issuer knows no
 * passwords.
 */
function refuseForeignOrigin(request: IncomingMessage, response: ServerResponse, trusts: TrustsOrigin): boolean {
  if (trusts(request)) return false;
  const { origin } = request.headers;
  const remedy =
    origin === 'null'
      ? 'Pages from files and sandboxed frames have no origin. Serve the page from http://localhost'
      : `To allow it, start local mode with CORS_ORIGINS=${origin}`;
  response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8', vary: 'Origin' });
  response.end(`Local mode answers to pages of this machine only, not of ${origin}. ${remedy}.\n`);
  return true;
}

/**
 * Checks the requests to all listeners that the server has now, and lets pages from trusted origins read the responses.
 * Upgrades are not requests: their handler checks host and origin.
 */
export function guardRequests(server: Server, trusts: TrustsOrigin): void {
  const listeners = server.listeners('request');
  const allow = allowCaller();
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (refuseForeignHost(request, response) || refuseForeignOrigin(request, response, trusts)) return;
    const handle = (): void => {
      for (const listener of listeners) listener.call(server, request, response);
    };
    if (request.headers.origin !== undefined) return allow(request, response, handle);
    // A cache must not answer a page with the response to a program's request.
    response.setHeader('Vary', 'Origin');
    handle();
  });
}
