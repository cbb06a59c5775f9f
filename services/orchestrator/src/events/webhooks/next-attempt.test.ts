import { expect, it } from '@jest/globals';
import { assert, integer, property } from 'fast-check';
import { nextAttempt } from './next-attempt.js';

const DAY_MS = 24 * 3_600_000;
const step = (attempts: number, failingMs: number, rest: { retryAfterMs?: number } = {}, random = () => 0) =>
  nextAttempt({ status: 500, attempts, failingMs, ...rest }, random);

it('ends immediately if the receiver no longer exists', () => {
  expect(nextAttempt({ status: 410, attempts: 0, failingMs: 0 })).toEqual({
    disable: 'gone',
  });
});

it('waits longer after each failure, up to six hours', () => {
  const waits = Array.from({ length: 11 }, (_, attempts) => step(attempts, 0));
  expect(waits.map((wait) => ('retryInMs' in wait ? wait.retryInMs / 60_000 : 0))).toEqual([
    0.1, 0.5, 2, 10, 30, 60, 120, 240, 360, 360, 360,
  ]);
});

it('waits as long as the receiver asks, up to twelve hours', () => {
  expect(step(0, 0, { retryAfterMs: 3_600_000 })).toEqual({ retryInMs: 3_600_000 });
  expect(step(0, 0, { retryAfterMs: 30 * DAY_MS })).toEqual({ retryInMs: DAY_MS / 2 });
});

it('makes its last attempt after exactly three days, and gives up then', () => {
  const schedule = property(integer({ min: 0, max: 100 }), integer({ min: 0, max: 100 }), (jitter, asked) => {
    let failingMs = 0;
    let next = step(0, 0);
    for (let attempts = 1; 'retryInMs' in next; attempts += 1) {
      failingMs += next.retryInMs;
      next = step(attempts, failingMs, { retryAfterMs: asked * 600_000 }, () => jitter / 100);
    }
    expect({ next, failingMs }).toEqual({ next: { disable: 'failing' }, failingMs: 3 * DAY_MS });
  });
  assert(schedule);
});
