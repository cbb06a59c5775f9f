import { performance } from 'node:perf_hooks';
import { seconds } from './environment.mjs';

/**
 * One thing that `npm test` checks. `run` returns whether it passed and what to show if not;
 * `needs` names steps without which it makes no sense.
 *
 * @typedef {{ name: string, needs?: string[], run: () => Promise<{ ok: boolean, output?: string }> }} Step
 */

/** Runs every step, also after a failure, with a line for each. @returns name → passed | failed | skipped. */
export async function runSteps(steps, say = console.log) {
  const results = new Map();
  for (const { name, needs = [], run } of steps) {
    const broken = needs.find((need) => results.get(need) !== 'passed');
    if (broken !== undefined) {
      results.set(name, 'skipped');
      say(`skipped  ${name}: "${broken}" did not pass`);
      continue;
    }
    const started = performance.now();
    const { ok, output = '' } = await run();
    results.set(name, ok ? 'passed' : 'failed');
    if (!ok && output.trim() !== '') say(output.trimEnd());
    say(`${ok ? 'ok     ' : 'FAILED '}  ${name} (${seconds(performance.now() - started)})`);
  }
  return results;
}

/** The last line of `npm test`; parts that the machine lacks count as skipped. */
export function summary(results, partsLacking) {
  const count = (wanted) => [...results.values()].filter((result) => result === wanted).length;
  return `${count('passed')} passed, ${count('failed')} failed, ${count('skipped') + partsLacking} skipped`;
}

/** One line for each part whose tests were skipped, from the JSON lines that the tests left. */
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
