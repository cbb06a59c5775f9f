import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { createClientAddress } from './client-address.js';

function request(remoteAddress: string, forwardedFor?: string): IncomingMessage {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  return { headers, socket: { remoteAddress }, connection: { remoteAddress } } as unknown as IncomingMessage;
}

describe('the client address', () => {
  it('returns the peer address if no proxy is trusted', () => {
    expect(createClientAddress([])(request('203.0.113.9', '198.51.100.1'))).toBe('203.0.113.9');
  });

  it('returns the last address that is not a trusted proxy', () => {
    const address = createClientAddress(['10.0.0.0/8', 'loopback']);
    expect(address(request('127.0.0.1', '192.0.2.1, 198.51.100.1, 10.1.2.3'))).toBe('198.51.100.1');
  });

  it('returns the peer address if the header contains no address', () => {
    expect(createClientAddress(['loopback'])(request('127.0.0.1', 'unknown'))).toBe('127.0.0.1');
  });

  it('is an address of IPv4 also on a socket for both versions', () => {
    expect(createClientAddress([])(request('::ffff:203.0.113.9'))).toBe('203.0.113.9');
    expect(createClientAddress(['10.0.0.0/8'])(request('::ffff:10.1.2.3', '198.51.100.1'))).toBe('198.51.100.1');
    expect(createClientAddress([])(request('2001:db8::1'))).toBe('2001:db8::1');
  });

  it('rejects a list with an entry that is not an address', () => {
    expect(() => createClientAddress(['everyone'])).toThrow('invalid IP address');
  });
});
