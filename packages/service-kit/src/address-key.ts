import { isIPv6 } from 'node:net';

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * By what the requests of an address are counted. Of IPv6 the first 64 bits: whoever has one address has all
 * of its network.
 */
export function addressKey(address: string): string {
  const [bare = ''] = address.split('%');
  const mapped = MAPPED_IPV4.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
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

/** Sixteen bits each; a dotted end counts as two. */
function groups(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => (group.includes('.') ? [0, 0] : [Number.parseInt(group, 16)]));
}
