import { describe, expect, it } from '@jest/globals';
import { isLoopbackHost } from './host-guard.js';

describe('isLoopbackHost', () => {
  it.each(['127.0.0.1', '127.0.0.1:8080', 'localhost', 'LOCALHOST:1', '[::1]', '[::1]:65535'])('accepts %s', (host) => {
    expect(isLoopbackHost(host)).toBe(true);
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
    '192.168.0.7:8080',
    '0.0.0.0',
    '::1',
    'localhost:',
    ' localhost',
  ])('rejects %j', (host) => {
    expect(isLoopbackHost(host)).toBe(false);
  });
});
