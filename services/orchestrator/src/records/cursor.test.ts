import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createCursorCodec, type Cursor, type CursorScope } from './cursor.js';

const codec = createCursorCodec('a key of the tests, long enough for one');
const cursors: fc.Arbitrary<Cursor> = fc.record({
  seq: fc.maxSafeNat(),
  before_seq: fc.option(fc.maxSafeNat()),
  pageDirection: fc.constantFrom('older', 'newer'),
});
const scopes: fc.Arbitrary<CursorScope> = fc.record({
  userId: fc.uuid(),
  conversationId: fc.uuid(),
  filter: fc.constantFrom('', 'one', 'two'),
  direction: fc.constantFrom('forward', 'backward'),
});
const invalid = expect.objectContaining({ code: 'cursor_invalid' });

describe('cursors', () => {
  it('are decoded unchanged', () => {
    fc.assert(
      fc.property(cursors, scopes, (cursor, scope) =>
        expect(codec.decode(codec.encode(cursor, scope), scope)).toEqual(cursor),
      ),
    );
  });

  it('need no escaping in a URL', () => {
    fc.assert(
      fc.property(cursors, scopes, (cursor, scope) => expect(codec.encode(cursor, scope)).toMatch(/^[\w.-]{1,512}$/)),
    );
  });

  it('are invalid in another scope', () => {
    fc.assert(
      fc.property(cursors, scopes, scopes, (cursor, scope, other) => {
        fc.pre(JSON.stringify(scope) !== JSON.stringify(other));
        expect(() => codec.decode(codec.encode(cursor, scope), other)).toThrow(invalid);
      }),
    );
  });

  it('are invalid under another key', () => {
    const other = createCursorCodec('another key of the tests, long enough too');
    fc.assert(
      fc.property(cursors, scopes, (cursor, scope) =>
        expect(() => codec.decode(other.encode(cursor, scope), scope)).toThrow(invalid),
      ),
    );
  });

  it('are invalid if their version differs, even with a valid signature', () => {
    const key = 'a key of the tests, long enough for one';
    const scope: CursorScope = { userId: 'u', conversationId: 'c', direction: 'forward' };
    const signed = (content: unknown) => {
      const payload = Buffer.from(JSON.stringify(content)).toString('base64url');
      const meaning = JSON.stringify(['u', 'c', 'forward', '', payload]);
      return `${payload}.${createHmac('sha256', key).update(meaning).digest().subarray(0, 16).toString('base64url')}`;
    };
    expect(codec.decode(signed([1, 7, 'older']), scope)).toEqual({ seq: 7, before_seq: null, pageDirection: 'older' });
    for (const content of [[0, 7, 'older'], [2, 7, 'older'], [3, 7, 'older', 5], { seq: 7 }, 'no']) {
      expect(() => codec.decode(signed(content), scope)).toThrow(invalid);
    }
  });

  it('are invalid if the service did not create them', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), scopes, (text, scope) =>
        expect(() => codec.decode(text, scope)).toThrow(invalid),
      ),
    );
  });

  it('are invalid if the payload and the MAC come from different cursors', () => {
    fc.assert(
      fc.property(cursors, cursors, scopes, (one, other, scope) => {
        const [payload = ''] = codec.encode(one, scope).split('.');
        const [otherPayload = '', mac = ''] = codec.encode(other, scope).split('.');
        fc.pre(payload !== otherPayload);
        expect(() => codec.decode(`${payload}.${mac}`, scope)).toThrow(invalid);
      }),
    );
  });
});
