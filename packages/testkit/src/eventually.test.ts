import { describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.js';

function countUp(): () => number {
  let count = 0;
  return () => (count += 1);
}

describe('eventually', () => {
  it('returns the first value that the predicate accepts', async () => {
    await expect(eventually(countUp(), { until: (count) => count >= 3, intervalMs: 1 })).resolves.toBe(3);
  });

  it('repeats a probe without a predicate until it returns neither undefined nor false', async () => {
    const values = [undefined, false, 0];
    await expect(eventually(() => values.shift(), { intervalMs: 1 })).resolves.toBe(0);
  });

  it('repeats a probe that throws', async () => {
    const count = countUp();
    const probe = (): string => {
      if (count() < 3) throw new Error('too early');
      return 'done';
    };
    await expect(eventually(probe, { intervalMs: 1 })).resolves.toBe('done');
  });

  it('throws the description and the last value on timeout', async () => {
    const never = eventually(() => ['a'], {
      until: () => false,
      timeoutMs: 5,
      intervalMs: 1,
      description: 'two items',
    });
    await expect(never).rejects.toThrow("two items: not within 5 ms; last: [ 'a' ]");
  });

  it('throws the last exception as the cause on timeout', async () => {
    const cause = new Error('connection refused');
    const probe = (): never => {
      throw cause;
    };
    await expect(eventually(probe, { timeoutMs: 5, intervalMs: 1 })).rejects.toMatchObject({ cause });
  });
});
