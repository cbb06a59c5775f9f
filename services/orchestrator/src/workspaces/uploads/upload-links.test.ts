import { describe, expect, it } from '@jest/globals';
import { createUploadLinks } from './upload-links.js';

const ID = '0192d3a4-0000-7000-8000-000000000001';
const START = new Date('2026-11-21T12:00:00Z');
const MINUTE_MS = 60_000;

function setUp(secret = 'x'.repeat(32)) {
  let now = START;
  const links = createUploadLinks({ secret, baseUrl: 'https://api.example.com/', clock: { now: () => now } });
  return { links, later: (ms: number) => (now = new Date(START.getTime() + ms)) };
}

const signatureOf = (url: string): string => new URL(url).searchParams.get('sig') ?? '';

describe('a link to a file', () => {
  it('contains the file id and a signature', () => {
    const { links } = setUp();
    expect(links.url(ID)).toMatch(new RegExp(`^https://api\\.example\\.com/v1/uploads/${ID}\\?sig=\\d+\\.[\\w-]{43}$`));
  });

  it('is valid for 15 to 30 minutes, and tells for how long', () => {
    for (const startS of [0, 1, 450, 899]) {
      const { links, later } = setUp();
      later(startS * 1_000);
      const signature = signatureOf(links.url(ID));
      const left = links.secondsLeft(ID, signature) ?? 0;
      expect({ startS, left }).toEqual({ startS, left: 30 * 60 - startS });
      later((startS + left - 1) * 1_000);
      expect(links.secondsLeft(ID, signature)).toBe(1);
      later((startS + left) * 1_000);
      expect(links.secondsLeft(ID, signature)).toBeUndefined();
    }
  });

  it('is the same for up to 15 minutes, so that a copy of the file can be found by its URL', () => {
    const { links, later } = setUp();
    const first = links.url(ID);
    later(15 * MINUTE_MS - 1_000);
    expect(links.url(ID)).toBe(first);
    later(15 * MINUTE_MS);
    expect(links.url(ID)).not.toBe(first);
  });

  it('is valid for its own file only', () => {
    const { links } = setUp();
    expect(links.secondsLeft(ID.replace(/1$/, '2'), signatureOf(links.url(ID)))).toBeUndefined();
  });

  it('is invalid if its expiry is changed', () => {
    const { links } = setUp();
    const [expires = '', mac = ''] = signatureOf(links.url(ID)).split('.');
    expect(links.secondsLeft(ID, `${Number(expires) + 60}.${mac}`)).toBeUndefined();
  });

  it('is invalid under another secret', () => {
    const [ours, theirs] = [setUp('a'.repeat(32)), setUp('b'.repeat(32))];
    expect(ours.links.secondsLeft(ID, signatureOf(theirs.links.url(ID)))).toBeUndefined();
  });

  it.each(['', '.', 'x', '1.x', `1.${'A'.repeat(43)}`, `-1.${'A'.repeat(43)}`, 'é'.repeat(60)])(
    'is invalid with the signature %j',
    (signature) => {
      expect(setUp().links.secondsLeft(ID, signature)).toBeUndefined();
    },
  );
});
