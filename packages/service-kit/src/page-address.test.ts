import { describe, expect, it } from '@jest/globals';
import { MAX_PAGE_ADDRESS, pageAddress } from './page-address.js';

describe('pageAddress', () => {
  it('leaves out what is not sent to the server', () => {
    expect(pageAddress(' HTTPS://Example.org:443/a?b=c#secret ')?.href).toBe('https://example.org/a?b=c');
  });

  it.each([
    'example.org',
    'ftp://example.org/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user@example.org/',
    'https://:secret@example.org/',
    `https://example.org/${'a'.repeat(MAX_PAGE_ADDRESS)}`,
    '',
  ])('rejects %j', (text) => {
    expect(pageAddress(text)).toBeUndefined();
  });
});
