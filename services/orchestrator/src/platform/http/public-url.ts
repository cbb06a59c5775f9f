import { isIP } from 'node:net';
import { isSecureUrl } from '@uswarm/service-kit';
import { mayBePublic } from '@uswarm/service-kit/outgoing';

/** Names that only a private network resolves (RFC 6761, RFC 6762, RFC 8375, RFC 9476, Kubernetes). */
const PRIVATE_SUFFIXES = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home\.arpa|svc|cluster\.local|alt|onion)$/;

const NOT_PUBLIC = 'must be the address of a server on the internet';

/**
 * Why uswarm does not call an address that a user has named. A name's IP address is checked for each connection instead, because
 * it can change.
 *
 * @param privateHosts hosts that the operator permits although they are on a private network
 */
export function addressProblem(url: URL, privateHosts: readonly string[]): string | undefined {
  const { protocol, hostname, port, username, password } = url;
  if (username !== '' || password !== '') return 'must not contain a user name or a password';
  if (privateHosts.includes(hostname)) return isSecureUrl(url.href) ? undefined : 'must begin with https://';
  if (protocol !== 'https:') return 'must begin with https://';
  if (port !== '') return 'must not name a port: only port 443 can be used';
  return isPublicHost(hostname) ? undefined : NOT_PUBLIC;
}

function isPublicHost(hostname: string): boolean {
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return mayBePublic(hostname);
  return hostname.includes('.') && !hostname.endsWith('.') && !PRIVATE_SUFFIXES.test(hostname);
}

/** The address without a fragment, which no server receives. */
export function canonicalAddress(url: URL): string {
  const { href } = Object.assign(new URL(url), { hash: '' });
  return href;
}
