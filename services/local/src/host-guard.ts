import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';

const HOST = /^(?:\[([^\]]+)\]|([^:]*))(?::\d+)?$/;

/**
 * Returns true if a `Host` header is `localhost` or an IP address. An attacker's name can resolve to this machine (DNS rebinding).
 * An address cannot: a page has this host only if the browser loaded it from that address. A forwarder, such as an emulator (10.0.2.2)
 * or a tunnel, sends requests with another machine's address.
 */
export function isTrustedHost(host: string | undefined): boolean {
  const [, version6, other = ''] = HOST.exec(host ?? '') ?? [];
  if (version6 !== undefined) return isIP(version6) === 6 && version6 !== '::';
  return (isIP(other) === 4 && other !== '0.0.0.0') || other.toLowerCase() === 'localhost';
}

/**
 * Rejects requests with another `Host`. Otherwise a web page could reach local mode through a name that resolves to this
 * machine (DNS rebinding).
 */
export function refuseForeignHost(request: IncomingMessage, response: ServerResponse): boolean {
  if (isTrustedHost(request.headers.host)) return false;
  response.writeHead(421, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(
    'Local mode answers to IP addresses and localhost only, not to other names of this machine: use http://127.0.0.1, or the address ' +
      'that was given to npm start -- --host.\n',
  );
  return true;
}
