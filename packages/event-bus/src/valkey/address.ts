import type { ValkeyAddress } from '@uswarm/service-kit';

/** `host:port`, the identity of a node. */
export const addressOf = ({ host, port }: ValkeyAddress): string => `${host}:${port}`;

/** @param address `host:port`, also with an IPv6 address without brackets */
export function nodeOf(address: string): ValkeyAddress {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}
