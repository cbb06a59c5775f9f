import { performance } from 'node:perf_hooks';
import { seconds } from './environment.mjs';

/**
 * One step of `npm test` or `npm run e2e`. `run` returns whether it passed, and the output to print when it failed.
 * The step is skipped unless the steps that `needs` names have passed.
 *
 * @typedef {{ name: string, needs?: string[], run: () => Promise<{ ok: boolean, output?: string }> }} Step
 * @typedef {{ name: string, status: 'passed' | 'failed' | 'skipped', ms: number }} StepResult
 */

/** Runs every step, even after a failure, and prints a line for each. @returns {Promise<StepResult[]>} */
export async function runSteps(steps, print = console.log) {
  const results = [];
  for (const { name, needs = [], run } of steps) {
    const blocker = needs.find((need) => results.find((result) => result.name === need)?.status !== 'passed');
    if (blocker !== undefined) {
      results.push({ name, status: 'skipped', ms: 0 });
      print(`skipped  ${name}: "${blocker}" did not pass`);
      continue;
    }
    const started = performance.now();
    const { ok, output = '' } = await run();
    const ms = performance.now() - started;
    results.push({ name, status: ok ? 'passed' : 'failed', ms });
    if (!ok && output.trim() !== '') print(output.trimEnd());
    print(`${ok ? 'ok     ' : 'FAILED '}  ${name} (${seconds(ms)})`);
  }
  return results;
}

/** Whether every step passed. */
export function allPassed(results) {
  return results.every(({ status }) => status === 'passed');
}

/** The last line of a run; features that the machine does not have count as skipped. */
export function summary(results, missingParts) {
  const count = (wanted) => results.filter(({ status }) => status === wanted).length;
  return `${count('passed')} passed, ${count('failed')} failed, ${count('skipped') + missingParts} skipped`;
}

/** One line per missing feature whose tests were skipped, from the JSON lines of the tests. */
export function skippedParts(jsonLines) {
  const parts = new Map();
  for (const line of jsonLines.split('\n').filter((text) => text !== '')) {
    const { part, suite, reason, install } = JSON.parse(line);
    const known = parts.get(part) ?? { reason, install, suites: new Set() };
    known.suites.add(suite);
    parts.set(part, known);
  }
  return [...parts].map(([part, { reason, install, suites }]) => {
    const tests = suites.size === 1 ? 'one group of tests' : `${suites.size} groups of tests`;
    return `skipped  ${part}, ${tests}: ${reason} ${install}`;
  });
}
