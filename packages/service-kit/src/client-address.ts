import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddress from 'proxy-addr';
import { plainAddress } from './address-key.js';
import { list } from './config.js';

export type ClientAddress = (request: IncomingMessage) => string;

/**
 * Determines the client address of a request. Only `X-Forwarded-For` entries from trusted proxies are used.
 *
 * @param trusted addresses, CIDR ranges, or `loopback`, `linklocal`, `uniquelocal`. @throws on anything else.
 */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const isTrusted = proxyAddress.compile([...trusted]);
  return (request) => {
    const address = proxyAddress(request, isTrusted);
    return plainAddress(isIP(address) === 0 ? (request.socket.remoteAddress ?? '') : address);
  };
}

function isProxyList(trusted: readonly string[]): boolean {
  try {
    createClientAddress(trusted);
    return true;
  } catch {
    return false;
  }
}

/** Setting: the comma-separated argument of `createClientAddress`. */
export const proxyList = list.refine(isProxyList, 'expected addresses or CIDR ranges');
