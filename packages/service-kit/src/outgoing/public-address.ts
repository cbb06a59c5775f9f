import { lookup as lookupName, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A user named this server, and it is inside the platform's network. Nothing was sent. */
export class PrivateAddress extends Error {
  override name = 'PrivateAddress';
  readonly code = 'PRIVATE_ADDRESS';
}

/**
 * True if an IP address belongs to a server on the internet. IPv6 addresses that contain an IPv4 address count as that
 * one, or as private.
 */
export const isPublicAddress = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast';

/** False for private IP addresses. Names have addresses only after their lookup. */
export function mayBePublic(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  return isIP(address) === 0 || isPublicAddress(address);
}

type Found = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/**
 * Looks up a name like `dns.lookup`, and fails if any of its addresses is private. The connection uses what this
 * function returns, so that another lookup cannot return a private address afterwards.
 *
 * @param except server names inside the network
 */
export const publicLookup =
  (except: readonly string[]) =>
  (hostname: string, options: LookupOptions, found: Found): void =>
    lookupName(hostname, options, (error, result: string | LookupAddress[], family) => {
      const addresses = typeof result === 'string' ? [result] : (result ?? []).map(({ address }) => address);
      const refused = except.includes(hostname) ? undefined : addresses.find((address) => !isPublicAddress(address));
      if (error === null && refused !== undefined) {
        found(new PrivateAddress(`${hostname} has the private address ${refused}`), result, family);
      } else found(error, result, family);
    });
