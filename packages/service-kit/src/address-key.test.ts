import { describe, expect, it } from '@jest/globals';
import { addressKey } from './address-key.js';

describe('addressKey', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['2001:db8:1::3:4:5:6', '2001:db8:1:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['', ''],
  ])('%s: %s', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });

  it('returns the same key for all addresses of a /64 network and another key for the next network', () => {
    expect(addressKey('2001:db8:0:7::1')).toBe(addressKey('2001:db8:0:7:ffff:ffff:ffff:ffff'));
    expect(addressKey('2001:db8:0:7::1')).not.toBe(addressKey('2001:db8:0:8::1'));
  });
});
