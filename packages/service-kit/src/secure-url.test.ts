import { describe, expect, it } from '@jest/globals';
import { isSecureUrl } from './secure-url.js';

describe('the rule for secure URLs', () => {
  it.each(['https://id.example.com', 'http://localhost:8080/x', 'http://127.0.0.2', 'http://[::1]:80'])(
    'accepts https, and http on this machine: %s',
    (url) => expect(isSecureUrl(url)).toBe(true),
  );

  it.each([
    'http://id.example.com',
    'http://127.0.0.1.example.com',
    'http://localhost.evil.example',
    'ftp://localhost',
  ])('refuses everything else: %s', (url) => expect(isSecureUrl(url)).toBe(false));
});
