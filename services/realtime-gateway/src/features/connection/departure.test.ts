import { describe, expect, it } from '@jest/globals';
import { departAll } from './departure.js';

describe('departure', () => {
  it.each([0, 1])('closes every connection within a window of %d ms', async (windowMs) => {
    const closed: number[] = [];
    await departAll([1, 2, 3], windowMs, (id) => closed.push(id));
    expect(closed.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  });

  it('spreads them at random over the window', async () => {
    const closed: number[] = [];
    const shares = [0.9, 0.1];
    await departAll(
      [1, 2],
      100,
      (id) => closed.push(id),
      () => shares.shift() ?? 0,
    );
    expect(closed).toEqual([2, 1]);
  });
});
