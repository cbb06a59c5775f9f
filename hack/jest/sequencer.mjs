import { sep } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Folders whose tests start all programs of the product and wait for them. */
const SLOW = ['services/local/', 'evals/', 'services/agent-runtime/test/'].map((folder) => folder.replaceAll('/', sep));

/**
 * Starts the slowest files first, so that none of them runs alone at the end. Jest does the same with the times of earlier runs,
 * but a clean checkout has none, and then jest sorts by file size.
 */
export default class SlowFilesFirst extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of the base class
    const sorted = super.sort(tests);
    return [...sorted.filter(isSlow), ...sorted.filter((test) => !isSlow(test))];
  }
}

function isSlow({ path, duration, context }) {
  if (duration !== undefined) return duration > 20_000;
  return path.endsWith('.int.test.ts') && SLOW.some((folder) => path.startsWith(context.config.rootDir + sep + folder));
}
