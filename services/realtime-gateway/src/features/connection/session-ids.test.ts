import { describe, expect, it } from '@jest/globals';
import { createSessionIds } from './session-ids.js';

const key = (id: string) => ({ id, secret: new TextEncoder().encode(`${id}, 32 bytes or more of a secret text`) });
const A = '10.0.0.1:8080';
const B = '[fd00::2]:8080';

describe('session ids', () => {
  it('tell the other gateways, but not their own, which one has the session', () => {
    const [a, b] = [createSessionIds([key('k')], A), createSessionIds([key('k')], B)];
    expect([a.ownerOf(b.generate()), b.ownerOf(a.generate()), a.ownerOf(a.generate())]).toEqual([B, A, undefined]);
  });

  it('are accepted with each key during a key rotation', () => {
    const ids = createSessionIds([key('new'), key('old')], A);
    expect(ids.ownerOf(createSessionIds([key('old')], B).generate())).toBe(B);
  });

  it('reveal no address, and are never the same', () => {
    const ids = createSessionIds([key('k')], A);
    const all = Array.from({ length: 100 }, () => ids.generate());
    expect(new Set(all).size).toBe(100);
    expect(all.filter((id) => Buffer.from(id, 'base64url').includes('10.0.0.1'))).toEqual([]);
  });

  it.each([
    ['an id of engine.io', 'lv_VI97HAXpY6yYWAAAB'],
    ['an empty text', ''],
    ['an address', Buffer.from(`evil.example:80${'x'.repeat(40)}`).toString('base64url')],
    ['a long text', 'x'.repeat(10_000)],
    ['an id of another key', createSessionIds([key('other')], B).generate()],
    [
      'a changed id',
      createSessionIds([key('k')], B)
        .generate()
        .replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    ],
  ])('name no gateway if they are of another kind: %s', (_what, id) => {
    expect(createSessionIds([key('k')], A).ownerOf(id)).toBeUndefined();
  });
});
