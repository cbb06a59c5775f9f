import { isDeepStrictEqual } from 'node:util';
import { BenchError } from '../settings.js';
import type { Ratio, Result } from './result.js';

export interface Comparison {
  name: string;
  baseline: number;
  newest: number;
  /** By how much it got worse: 0.2 is 20 %, below zero is better. */
  worse: number;
  tooMuch: boolean;
}

/** And a trifle, for what floating point makes of exactly as much. */
const TOLERATED = 0.2 + 1e-9;

function worsening(baseline: Ratio, newest: Ratio): number {
  const change = newest.value / baseline.value - 1;
  return baseline.better === 'lower' ? change : -change;
}

/**
 * The ratios to the floor, one by one. Those of another machine compare too: the floor ran there as well.
 *
 * @throws BenchError where the runs were done in different ways, or one has no such ratio
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
