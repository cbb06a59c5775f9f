import { describe, expect, it } from '@jest/globals';
import { createOriginRule } from './origin-guard.js';

const trusts = (origin: string | undefined, { host = '127.0.0.1:8080', listed = [] as string[] } = {}): boolean =>
  createOriginRule(listed)({ headers: { origin, host } });

describe('the origins that local mode trusts', () => {
  it.each([
    undefined,
    'http://localhost',
    'http://localhost:5173',
    'https://localhost:5173',
    'http://127.0.0.1:8081',
    'http://[::1]:3000',
  ])('include %s, whichever address the page calls', (origin) => {
    for (const host of ['127.0.0.1:8080', 'localhost:8080', '[::1]:8080', '10.0.2.2:8080', '192.168.0.7:8080']) {
      expect({ host, trusted: trusts(origin, { host }) }).toEqual({ host, trusted: true });
    }
  });

  it.each([
    ['http://192.168.0.7:8081', '192.168.0.7:8080'],
    ['http://10.0.2.2:5173', '10.0.2.2:8080'],
    ['http://[fd00::7]:8081', '[fd00::7]:8080'],
  ])('include %s for a request to %s only', (origin, host) => {
    expect(trusts(origin, { host })).toBe(true);
    for (const other of ['127.0.0.1:8080', 'localhost:8080', '192.168.0.8:8080']) {
      expect(trusts(origin, { host: other })).toBe(false);
    }
  });

  it.each(['https://app.example.com', 'capacitor://localhost'])('include %s if it is listed', (origin) => {
    expect(trusts(origin)).toBe(false);
    expect(trusts(origin, { listed: ['https://other.example.com', origin] })).toBe(true);
    expect(trusts(origin, { listed: ['*'] })).toBe(true);
  });

  it.each([
    'https://evil.example',
    'http://localhost.evil.example:5173',
    'http://localhost:5173.evil.example',
    'http://evil.example:5173?http://localhost',
    'http://127.0.0.1.evil.example',
    'http://localhost@evil.example',
    'http://user@localhost:5173',
    'http://notlocalhost:5173',
    'http://localhost:5173/path',
    'http://LOCALHOST:5173',
    'http://2130706433:5173',
    'http://127.0.0.2:5173',
    'http://10.0.2.2:5173',
    'ftp://localhost',
    'file://localhost',
    'file://',
    'null',
    '',
  ])('exclude %j', (origin) => {
    expect(trusts(origin)).toBe(false);
  });
});
