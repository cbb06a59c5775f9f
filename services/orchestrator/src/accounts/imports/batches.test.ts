import { describe, expect, it } from '@jest/globals';
import { batches } from './batches.js';

async function* rows(count: number, characters: number): AsyncGenerator<string> {
  for (let n = 0; n < count; n += 1) yield 'x'.repeat(characters);
}

describe('batches of rows', () => {
  it.each([
    ['many small rows', 450, 10, [200, 200, 50]],
    ['few long rows', 5, 600_000, [2, 2, 1]],
    ['no rows', 0, 0, []],
  ])('end by number and by size: %s', async (_what, count, characters, expected) => {
    const sizes = [];
    for await (const batch of batches(rows(count, characters))) sizes.push(batch.length);
    expect(sizes).toEqual(expected);
  });

  it('let other work run between them', async () => {
    let ran = 0;
    const timer = setInterval(() => (ran += 1), 0);
    const seen = [];
    for await (const _ of batches(rows(1_000, 10))) {
      // Each batch takes longer than the timer's interval.
      for (const until = performance.now() + 5; performance.now() < until;);
      seen.push(ran);
    }
    clearInterval(timer);
    expect(seen[0]).toBe(0);
    expect(seen.at(-1)).toBeGreaterThan(0);
  });
});
