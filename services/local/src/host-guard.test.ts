import { describe, expect, it } from '@jest/globals';
import { isTrustedHost } from './host-guard.js';

describe('isTrustedHost', () => {
  it.each([
    '127.0.0.1',
    '127.0.0.1:8080',
    'localhost',
    'LOCALHOST:1',
    '[::1]',
    '[::1]:65535',
    // Hosts of an Android emulator, and of Genymotion.
    '10.0.2.2:8080',
    '10.0.3.2',
    // A tunnel that listens on another local address.
    '192.168.0.7:8081',
    '[fe80::1]:8081',
  ])('accepts %s', (host) => {
    expect(isTrustedHost(host)).toBe(true);
  });

  it.each([
    undefined,
    '',
    'example.com',
    '127.0.0.1.example.com',
    'localhost.example.com',
    'example.com:127.0.0.1',
    'notlocalhost',
    'localhost:8080.example.com',
    'localhost@example.com',
    '10.0.2.2.example.com',
    '10.0.2',
    '0x0a000202',
    '0.0.0.0',
    '[::]:8080',
    '[localhost]',
    '::1',
    'localhost:',
    ' localhost',
  ])('rejects %j', (host) => {
    expect(isTrustedHost(host)).toBe(false);
  });
});
