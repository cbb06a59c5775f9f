import { describe, expect, it } from '@jest/globals';
import { drainConnections } from './drain-connections.js';

describe('drainConnections', () => {
  it.each([
    { perSecond: 0, windowMs: 60_000 },
    { perSecond: 1, windowMs: 0 },
    { perSecond: 1_000, windowMs: 60_000 },
    { perSecond: 1, windowMs: 1 },
  ])('closes every connection with %j', async (rate) => {
    const closed: number[] = [];
    await drainConnections([1, 2, 3], rate, (id) => closed.push(id));
    expect(closed.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  });

  it('closes connections at random times', async () => {
    const closed: number[] = [];
    const shares = [0.9, 0.1];
    await drainConnections(
      [1, 2],
      { perSecond: 1, windowMs: 100 },
      (id) => closed.push(id),
      () => shares.shift() ?? 0,
    );
    expect(closed).toEqual([2, 1]);
  });
});
