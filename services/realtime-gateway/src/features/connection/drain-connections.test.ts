import { describe, expect, it } from '@jest/globals';
import { drainConnections } from './drain-connections.js';

describe('drainConnections', () => {
  it.each([0, 1])('closes every connection within a window of %d ms', async (windowMs) => {
    const closed: number[] = [];
    await drainConnections([1, 2, 3], windowMs, (id) => closed.push(id));
    expect(closed.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  });

  it('closes connections at random times within the window', async () => {
    const closed: number[] = [];
    const shares = [0.9, 0.1];
    await drainConnections(
      [1, 2],
      100,
      (id) => closed.push(id),
      () => shares.shift() ?? 0,
    );
    expect(closed).toEqual([2, 1]);
  });
});
