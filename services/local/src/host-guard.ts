import type { IncomingMessage, ServerResponse } from 'node:http';

const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/** Whether a request was addressed to this machine itself, and not to a name that somebody points at it. */
export function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && LOOPBACK.test(host);
}

/**
 * Refuses requests whose `Host` is another name: a web page could otherwise reach local mode
 * through a name of its own that resolves to this machine (DNS rebinding).
 */
export function refuseForeignHost(request: IncomingMessage, response: ServerResponse): boolean {
  if (isLoopbackHost(request.headers.host)) return false;
  response.writeHead(421, { 'content-type': 'text/plain; charset=utf-8' });
  response.end('Local mode answers to 127.0.0.1 and localhost only.\n');
  return true;
}
