import { describe, expect, it } from '@jest/globals';
import { type ApiError, LIMITS } from '@uswarm/contract';
import fc from 'fast-check';
import type { Since } from '../hub/since.js';
import { decodeCursor, encodeCursor } from './cursor.js';

const epoch = fc.stringMatching(/^[a-z0-9]{1,32}$/);
const position: fc.Arbitrary<Since> = fc.record(
  { seq: fc.nat({ max: 999_999_999_999_999 }), epoch },
  { requiredKeys: ['seq'] },
);
const positions = fc
  .array(fc.tuple(fc.uuid(), position), { maxLength: LIMITS.subscriptionsPerSocket })
  .map((entries) => new Map(entries));

/** What the cursor contains, encoded again, or the code of its error. */
function result(cursor: string): string {
  try {
    return encodeCursor(decodeCursor(cursor));
  } catch (error) {
    return (error as ApiError).code;
  }
}

describe('the cursor of a stream', () => {
  it('contains the positions of its workspaces', () => {
    fc.assert(
      fc.property(positions, (map) => {
        const byId = (entries: Iterable<[string, Since]>) => [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1));
        expect(byId(decodeCursor(encodeCursor(map)))).toEqual(byId(map));
      }),
    );
  });

  it('has at most 4,096 characters, which need no encoding in a URL', () => {
    const longest = Array.from({ length: LIMITS.subscriptionsPerSocket }, (_, index): [string, Since] => [
      crypto.randomUUID(),
      { epoch: String(index).padStart(32, 'e'), seq: 999_999_999_999_999 },
    ]);
    const cursor = encodeCursor(new Map(longest));
    expect(cursor).toMatch(/^[\w.~-]{1,4096}$/);
    expect(decodeCursor(cursor).size).toBe(LIMITS.subscriptionsPerSocket);
  });

  it('is refused with an error of the client if it is anything else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^v1(~[a-z0-9]{0,3}(\.[\w-]{20,24})+)+$/)), (text) => {
        expect(['cursor_invalid', text]).toContain(result(text));
      }),
    );
  });
});
