import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { untilResync } from './resync.js';

const PERIOD = 30_000;
const EARLY = 500;

describe('the resync schedule', () => {
  it('schedules each object once per period at a fixed offset', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: 0, max: 2 ** 41 }), (uid, now) => {
        const wait = untilResync(uid, now, PERIOD);
        expect(wait).toBeGreaterThanOrEqual(EARLY);
        expect(wait).toBeLessThan(PERIOD + EARLY);
        expect(untilResync(uid, now + wait, PERIOD)).toBe(PERIOD);
      }),
    );
  });

  it('does not schedule an object twice when a timer fires early', () => {
    const moment = untilResync('uid', 0, PERIOD);
    expect([-EARLY, 1 - EARLY, -1, 0].map((early) => untilResync('uid', moment + early, PERIOD))).toEqual([
      EARLY,
      PERIOD + EARLY - 1,
      PERIOD + 1,
      PERIOD,
    ]);
  });

  it('spreads objects over the period', () => {
    const waits = Array.from({ length: 1_000 }, (_, at) => untilResync(`uid-${at}`, 0, PERIOD) % PERIOD);
    const inEachSecond = new Map<number, number>();
    for (const wait of waits) {
      const second = Math.floor((wait - 1) / 1_000);
      inEachSecond.set(second, (inEachSecond.get(second) ?? 0) + 1);
    }
    expect(inEachSecond.size).toBe(30);
    expect(Math.max(...inEachSecond.values())).toBeLessThan(70);
  });
});
