import { sep } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Folders whose tests start the whole product and wait for it. */
const SLOW = ['services/local/', 'evals/', 'services/agent-runtime/test/'].map((folder) => folder.replaceAll('/', sep));

/** Share of other files that run between the slow ones. */
const BETWEEN = 0.6;

/**
 * Spreads the slow files, which mostly wait, between files that use the processor. The last files are fast, so that no slow one
 * runs alone at the end. Jest starts the slowest files first, but a clean checkout has no times, and then jest sorts by file size.
 */
export default class SpreadSlowFiles extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of the base class
    const sorted = super.sort(tests);
    const slow = sorted.filter(isSlow);
    const fast = sorted.filter((test) => !isSlow(test));
    if (slow.length === 0) return fast;
    const count = Math.floor((fast.length * BETWEEN) / slow.length);
    const spread = slow.flatMap((test, index) => [test, ...fast.slice(index * count, (index + 1) * count)]);
    return [...spread, ...fast.slice(slow.length * count)];
  }
}

function isSlow({ path, duration, context }) {
  if (duration !== undefined) return duration > 20_000;
  return path.endsWith('.int.test.ts') && SLOW.some((folder) => path.startsWith(context.config.rootDir + sep + folder));
}
