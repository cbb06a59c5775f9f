import type { IncomingMessage, ServerResponse } from 'node:http';

const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/** Whether a `Host` header is a loopback address, not a foreign name that resolves to this machine. */
export function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && LOOPBACK.test(host);
}

/**
 * Rejects requests with another `Host`. Otherwise a web page could reach local mode through a name that resolves to this
 * machine (DNS rebinding).
 */
export function refuseForeignHost(request: IncomingMessage, response: ServerResponse): boolean {
  if (isLoopbackHost(request.headers.host)) return false;
  response.writeHead(421, { 'content-type': 'text/plain; charset=utf-8' });
  response.end('Local mode answers to 127.0.0.1 and localhost only.\n');
  return true;
}
