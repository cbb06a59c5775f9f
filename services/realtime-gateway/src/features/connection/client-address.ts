import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddress from 'proxy-addr';

export type ClientAddress = (request: IncomingMessage) => string;

/**
 * Finds where a request comes from: `X-Forwarded-For` counts only as far as trusted proxies wrote it.
 *
 * @param trusted addresses, CIDR ranges, or `loopback`, `linklocal`, `uniquelocal`. @throws on anything else.
 */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const isTrusted = proxyAddress.compile([...trusted]);
  return (request) => {
    const address = proxyAddress(request, isTrusted);
    return isIP(address) === 0 ? (request.socket.remoteAddress ?? '') : address;
  };
}
