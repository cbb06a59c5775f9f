import { performance } from 'node:perf_hooks';
import { seconds } from './environment.mjs';

/**
 * One step of `npm test` or `npm run e2e`. `run` returns whether it passed, and the output to print when it failed.
 * The step is skipped unless the steps that `needs` names have passed. Neighbours that are `concurrent` run together.
 *
 * @typedef {{ name: string, needs?: string[], concurrent?: boolean,
 *   run: () => Promise<{ ok: boolean, output?: string }> }} Step
 * @typedef {{ name: string, status: 'passed' | 'failed' | 'skipped', ms: number }} StepResult
 */

/** Runs every step, even after a failure, and prints a line for each. @returns {Promise<StepResult[]>} */
export async function runSteps(steps, print = console.log) {
  const results = [];
  for (const group of concurrentGroups(steps)) {
    results.push(...(await Promise.all(group.map((step) => runStep(step, results, print)))));
  }
  return results;
}

function concurrentGroups(steps) {
  const groups = [];
  for (const step of steps) {
    if (step.concurrent && groups.at(-1)?.[0].concurrent) groups.at(-1).push(step);
    else groups.push([step]);
  }
  return groups;
}

async function runStep({ name, needs = [], run }, previous, print) {
  const blocker = needs.find((need) => previous.find((result) => result.name === need)?.status !== 'passed');
  if (blocker !== undefined) {
    print(`skipped  ${name}: "${blocker}" did not pass`);
    return { name, status: 'skipped', ms: 0 };
  }
  const started = performance.now();
  const { ok, output = '' } = await run();
  const ms = performance.now() - started;
  if (!ok && output.trim() !== '') print(output.trimEnd());
  print(`${ok ? 'ok     ' : 'FAILED '}  ${name} (${seconds(ms)})`);
  return { name, status: ok ? 'passed' : 'failed', ms };
}

/** True if every step passed. */
export function allPassed(results) {
  return results.every(({ status }) => status === 'passed');
}

/** Last output line of a run; features that the machine does not have count as skipped. */
export function summary(results, missingParts) {
  const count = (wanted) => results.filter(({ status }) => status === wanted).length;
  return `${count('passed')} passed, ${count('failed')} failed, ${count('skipped') + missingParts} skipped`;
}

/** One line per missing feature whose tests were skipped, from the tests' JSON lines. */
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
