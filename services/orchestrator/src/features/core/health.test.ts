import { describe, expect, it } from '@jest/globals';
import { sharedHealth } from './health.js';

describe('the shared health check', () => {
  const scene = (results: boolean[]) => {
    let looks = 0;
    let now = 1_000_000;
    const health = sharedHealth(async () => results[looks++] ?? true, { now: () => new Date(now) });
    return { health, looks: () => looks, wait: (ms: number) => void (now += ms) };
  };

  it('looks at Postgres once for all callers of one second, and again in the next', async () => {
    const { health, looks, wait } = scene([true, false, true]);
    expect(await Promise.all(Array.from({ length: 5_000 }, health))).toEqual(Array.from({ length: 5_000 }, () => true));
    wait(999);
    expect([await health(), looks()]).toEqual([true, 1]);
    wait(1);
    expect([await health(), looks()]).toEqual([false, 2]);
    wait(1_000);
    expect([await health(), looks()]).toEqual([true, 3]);
  });

  it('does not keep a result when the clock is set back', async () => {
    const { health, looks, wait } = scene([true, false]);
    await health();
    wait(-3_600_000);
    expect([await health(), looks()]).toEqual([false, 2]);
  });
});
