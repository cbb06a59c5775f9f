import { isDeepStrictEqual } from 'node:util';
import { BenchError } from '../settings.js';
import type { Ratio, Result } from './result.js';

export interface Comparison {
  name: string;
  baseline: number;
  newest: number;
  /** The relative change: 0.2 is 20 % worse, negative is better. */
  worse: number;
  tooMuch: boolean;
}

/** Includes a tolerance for floating point errors. */
const TOLERATED = 0.2 + 1e-9;

function worsening(baseline: Ratio, newest: Ratio): number {
  const change = newest.value / baseline.value - 1;
  return baseline.better === 'lower' ? change : -change;
}

/**
 * Compares the ratios to the floor. Results from different machines are comparable, because the floor runs on the same
 * machine.
 *
 * @throws BenchError if the settings differ or a ratio is missing
 */
export function compare(baseline: Result, newest: Result): Comparison[] {
  if (!isDeepStrictEqual(baseline.settings, newest.settings)) {
    throw new BenchError('The two runs have different settings: their ratios cannot be compared.');
  }
  return Object.entries(baseline.ratios).map(([name, before]) => {
    const now = newest.ratios[name];
    if (now === undefined || !Number.isFinite(now.value)) throw new BenchError(`The newest run has no "${name}".`);
    const worse = worsening(before, now);
    return { name, baseline: before.value, newest: now.value, worse, tooMuch: worse > TOLERATED };
  });
}
