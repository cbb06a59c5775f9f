import { describe, expect, it } from '@jest/globals';
import { sharedHealth } from './health.js';

describe('the shared health check', () => {
  const scene = (results: boolean[]) => {
    let looks = 0;
    let now = 1_000_000;
    const health = sharedHealth(async () => results[looks++] ?? true, { now: () => new Date(now) });
    return { health, looks: () => looks, wait: (ms: number) => void (now += ms) };
  };

  it('queries Postgres once per second for all callers', async () => {
    const { health, looks, wait } = scene([true, false, true]);
    expect(await Promise.all(Array.from({ length: 5_000 }, health))).toEqual(Array.from({ length: 5_000 }, () => true));
    wait(999);
    expect({ healthy: await health(), looks: looks() }).toEqual({ healthy: true, looks: 1 });
    wait(1);
    expect({ healthy: await health(), looks: looks() }).toEqual({ healthy: false, looks: 2 });
    wait(1_000);
    expect({ healthy: await health(), looks: looks() }).toEqual({ healthy: true, looks: 3 });
  });

  it('does not reuse a result after the clock is set back', async () => {
    const { health, looks, wait } = scene([true, false]);
    await health();
    wait(-3_600_000);
    expect({ healthy: await health(), looks: looks() }).toEqual({ healthy: false, looks: 2 });
  });
});
