import { isIPv6 } from 'node:net';

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** An address of IPv4 without the prefix that it has on a socket for both versions. */
export const plainAddress = (address: string): string => MAPPED_IPV4.exec(address)?.[1] ?? address;

/**
 * Key for counting requests by address: the address for IPv4, and the /64 network for IPv6, because a client usually
 * controls a whole /64.
 */
export function addressKey(address: string): string {
  const [unplain = ''] = address.split('%');
  const bare = plainAddress(unplain);
  return isIPv6(bare) ? `${networkOf(bare)}::/64` : bare;
}

function networkOf(address: string): string {
  const [before = '', after] = address.split('::');
  const head = groups(before);
  const tail = after === undefined ? [] : groups(after);
  const missing = Array.from({ length: 8 - head.length - tail.length }, () => 0);
  return [...head, ...missing, ...tail]
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/** 16-bit groups; a trailing dotted IPv4 address counts as two groups. */
function groups(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => (group.includes('.') ? [0, 0] : [Number.parseInt(group, 16)]));
}
