import { expect, it } from '@jest/globals';
import { rolloutInitialDelayMs } from './initial-delay.js';

it.each([1, 30, 300])('is longer than a resync of %i s, so that no grant follows from an older status', (resyncS) => {
  expect(rolloutInitialDelayMs(resyncS)).toBeGreaterThan(resyncS * 1_000);
});
