import { expect, it } from '@jest/globals';
import { createManualTimers } from '../../../test/manual-timers.js';
import { createTextPace } from './text-pace.js';

it('sends the first text immediately, then every 50 ms, and every 250 ms after 2 seconds', () => {
  const timers = createManualTimers();
  const flushes: number[] = [];
  let time = 0;
  const pace = createTextPace({ timers, now: () => time, flush: () => flushes.push(time) });
  const write = (until: number): void => {
    while (time < until) {
      pace.textChanged();
      time += 5;
      timers.advance(5);
    }
  };
  write(100);
  expect(flushes[0]).toBe(0);
  expect(flushes.length).toBeGreaterThanOrEqual(2);
  write(2_000);
  const early = flushes.length;
  expect(early).toBeLessThanOrEqual(41);
  write(4_000);
  expect(flushes.length - early).toBeLessThanOrEqual(9);
  // A text that begins after a pause.
  time += 2_000;
  timers.advance(2_000);
  const before = flushes.length;
  pace.textChanged();
  expect(flushes.slice(before)).toEqual([time]);
  pace.textChanged();
  pace.stop();
  expect(timers.pending()).toBe(0);
});
