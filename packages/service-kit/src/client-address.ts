import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddress from 'proxy-addr';
import { list } from './config.js';

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

function isProxyList(trusted: readonly string[]): boolean {
  try {
    createClientAddress(trusted);
    return true;
  } catch {
    return false;
  }
}

/** A setting: what `createClientAddress` takes, comma-separated. */
export const proxyList = list.refine(isProxyList, 'expected addresses or CIDR ranges');
