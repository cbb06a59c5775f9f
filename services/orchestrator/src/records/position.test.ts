import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Position, positionOf } from './position.js';

const own = (seq: number): Position => ({ seq, before_seq: null });
const toolLine = (seq: number, before_seq: number): Position => ({ seq, before_seq });

describe('the position of a message', () => {
  it('lists tool lines in their order, directly before their reply', () => {
    const listed = [own(7), toolLine(10, 9), toolLine(12, 9), own(9), own(11), own(100)];
    const positions = listed.map(positionOf);
    expect(positions.toSorted()).toEqual(positions);
    expect(positions.toSorted((a, b) => a.localeCompare(b))).toEqual(positions);
  });

  it('sorts messages that are listed by their own seq as numbers', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (a, b) => {
        fc.pre(a !== b);
        expect(positionOf(own(a)) < positionOf(own(b))).toBe(a < b);
      }),
    );
  });
});
