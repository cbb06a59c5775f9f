import { describe, expect, it } from '@jest/globals';
import { createBypass } from './no-proxy.js';

describe('NO_PROXY', () => {
  it.each([
    ['example.com', 'example.com', true],
    ['example.com', 'a.example.com', true],
    ['example.com', 'badexample.com', false],
    ['.example.com', 'example.com', true],
    ['.example.com', 'a.b.example.com', true],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'example.com', false],
    ['EXAMPLE.com', 'a.Example.COM', true],
    ['example.com.', 'example.com', true],
    ['example.com', 'example.com.', true],
    ['bücher.test', 'xn--bcher-kva.test', true],
    ['https://example.com', 'example.com', true],
    ['*', 'anything.test', true],
    ['*', '203.0.113.1', true],
    ['a.test, b.test', 'b.test', true],
    ['a.test b.test', 'b.test', true],
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.7', '192.0.2.70', false],
    ['10.0.0.0/8', '10.200.3.4', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.0.0.0/8', '[::ffff:a01:203]', true],
    ['10.0.0.0/8', '10.example.com', false],
    ['192.0.2.10-192.0.2.20', '192.0.2.15', true],
    ['192.0.2.10-192.0.2.20', '192.0.2.21', false],
    ['2001:db8::1', '[2001:db8::1]', true],
    ['[2001:db8::1]', '[2001:db8::1]', true],
    ['2001:db8:0:0::1', '[2001:db8::1]', true],
    ['2001:db8::/32', '[2001:db8:1::5]', true],
    ['2001:db8::/32', '[2001:db9::5]', false],
    ['[2001:db8::]/32', '[2001:db8:1::5]', true],
    // Ignored, and the next entry counts.
    ['10.0.0.0/99,example.com', '10.0.0.1', false],
    ['10.0.0.0/,example.com', '192.0.2.1', false],
    ['10.0.0.0/255.0.0.0,example.com', '10.0.0.1', false],
    ['.,*.', 'example.com.', false],
    ['10.0.0.0/99,example.com', 'example.com', true],
    ['192.0.2.20-192.0.2.10,example.com', 'example.com', true],
  ])('decides by %j whether %j is reached directly: %j', (noProxy, host, isDirect) => {
    expect(createBypass(noProxy)(host, 443)).toBe(isDirect);
  });

  it.each([
    ['example.com:8443', 'example.com', 8443, true],
    ['example.com:8443', 'example.com', 443, false],
    ['*:8443', 'example.com', 8443, true],
    ['192.0.2.7:80', '192.0.2.7', 80, true],
    ['192.0.2.7:80', '192.0.2.7', 443, false],
    ['10.0.0.0/8:80', '10.1.1.1', 80, true],
    ['[2001:db8::1]:443', '[2001:db8::1]', 443, true],
    ['[2001:db8::1]:443', '[2001:db8::1]', 80, false],
  ])('decides by %j whether %j with port %j is reached directly: %j', (noProxy, host, port, isDirect) => {
    expect(createBypass(noProxy)(host, port)).toBe(isDirect);
  });

  it.each([
    'localhost',
    'app.localhost',
    '127.0.0.1',
    '127.8.9.10',
    '[::1]',
    '[::ffff:7f00:1]',
    '0.0.0.0',
    '169.254.169.254',
    '[fe80::1]',
    'models.backend.svc',
    'models.backend.svc.cluster.local',
    'kubernetes.default.svc',
    'kubernetes.default',
    'kubernetes.default.',
    'ollama',
  ])('does not matter for %j, which is always reached directly', (host) => {
    expect(createBypass('')(host, 443)).toBe(true);
  });
});
