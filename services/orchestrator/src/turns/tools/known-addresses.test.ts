import { describe, expect, it } from '@jest/globals';
import { addressTexts, isKnownAddress } from './known-addresses.js';

const knows = (address: string, ...texts: string[]) => isKnownAddress(new URL(address), texts);

describe('isKnownAddress', () => {
  it.each([
    ['https://example.org/', 'Please look at example.org.'],
    ['https://example.org/docs/intro', 'Read example.org/docs/intro!'],
    ['https://example.org/docs/', 'Read https://www.example.org/docs, please'],
    ['https://example.org/a?b=c&d=e', '[more](https://example.org/a?b=c&d=e) and more'],
    ['https://en.wikipedia.org/wiki/Tea_(drink)', 'See https://en.wikipedia.org/wiki/Tea_(drink).'],
    ['http://example.org:8080/x', 'http://example.org:8080/x'],
    ['https://example.org/x', '<https://example.org/x#part>'],
    ['https://xn--bcher-kva.example/', 'bücher.example'],
  ])('knows %s from %j', (address, text) => {
    expect(knows(address, text)).toBe(true);
  });

  it.each([
    ['another path', 'https://example.org/secret', 'https://example.org/'],
    ['another query', 'https://example.org/?k=4711', 'https://example.org/'],
    ['another value', 'https://example.org/?k=4711', 'https://example.org/?k=1'],
    ['a subdomain', 'https://secret.example.org/', 'https://example.org/'],
    ['another port', 'https://example.org:8443/', 'https://example.org/'],
    ['the beginning of an address', 'https://example.org/a', 'https://example.org/ab'],
    ['pieces of two texts', 'https://example.org/4711', 'https://example.org/'],
    ['a word of the user as its host', 'https://evil.example/4711', 'My PIN is 4711.'],
    ['Base64', 'https://example.org/VGhlIFBJTiBpcyA0NzEx', 'https://example.org/'],
  ])('does not know an address with %s', (_, address, text) => {
    expect(knows(address, text, '4711')).toBe(false);
  });

  it('reads a long text without a blank in linear time', () => {
    const start = performance.now();
    for (const piece of ['a', 'a.', '.', 'a-', 'http://'])
      expect(knows('https://example.org/', piece.repeat(300_000))).toBe(false);
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  it.each(['.', '?!', 'a.', '/..', 'example.org/..'])('reads a long path of %j in linear time', (piece) => {
    const path = piece.repeat(300_000 / piece.length);
    const start = performance.now();
    expect(knows('https://example.org/x', `example.org/${path}x and example.org/x...`)).toBe(true);
    expect(performance.now() - start).toBeLessThan(2_000);
  });
});

describe('addressTexts', () => {
  it('has the addresses of a search, and nothing that can repeat its query', () => {
    const result = JSON.stringify({
      results: [
        {
          title: 'https://evil.example/?k=1',
          url: 'https://example.org/?a=1&b',
          snippet: '"url":"https://evil.example/2"',
        },
      ],
    });
    expect(addressTexts('search', result)).toEqual(['https://example.org/?a=1&b']);
  });
});
