import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { repositoryRoot, seconds } from './environment.mjs';

const SLOWEST_SHOWN = 10;
const FAILURES_SHOWN = 20;
const MOST_OF_MESSAGE = 300;
/** More flaky tests than this in one run point to a defect that they share. */
const MOST_FLAKY = 3;

/**
 * Reads the JSON results of jest; missing files count as empty.
 *
 * @returns {{ name: string, ms: number, failures: string[], flaky: string[] }[]} a test file each: its path from the
 *   root, its duration in milliseconds, and for each failed test, and each that only passed when it was repeated, its
 *   name and the beginning of its message
 */
export function testFiles(resultFiles, root = repositoryRoot) {
  return resultFiles.filter(existsSync).flatMap((file) =>
    JSON.parse(readFileSync(file, 'utf8')).testResults.map((result) => ({
      name: relative(root, result.name),
      ms: result.endTime - result.startTime,
      failures: failuresOf(result),
      flaky: flakyOf(result),
    })),
  );
}

function failuresOf({ status, message = '', assertionResults = [] }) {
  const tests = assertionResults.filter((test) => test.status === 'failed');
  if (tests.length > 0) return tests.map((test) => `${test.fullName}: ${beginning(test.failureMessages.join('\n'))}`);
  // A file that does not load has no tests.
  return status === 'failed' ? [beginning(message)] : [];
}

function flakyOf({ assertionResults = [] }) {
  return assertionResults
    .filter(({ status, invocations }) => status === 'passed' && invocations > 1)
    .map(({ fullName, retryReasons = [] }) => `${fullName}: ${beginning(retryReasons.join('\n'))}`);
}

/** The words before the stack, on one line. */
function beginning(message) {
  const [words] = stripVTControlCharacters(message).split(/^\s+at /m);
  return words.replaceAll(/\s+/g, ' ').trim().slice(0, MOST_OF_MESSAGE);
}

/** @returns one line for each of the slowest steps and test files, the slowest first */
export function timeReport(steps, files) {
  return [...section('Slowest steps:', steps), ...section('Slowest test files:', files)];
}

/** @returns one line for each test that failed and then passed; nothing if none did */
export function flakyReport(files) {
  const lines = files.flatMap(({ name, flaky }) => flaky.map((test) => `  ${name}: ${test}`));
  return lines.length === 0 ? [] : [`Flaky tests, which fail the run if there are more than ${MOST_FLAKY}:`, ...lines];
}

export function hasFewFlakyTests(files) {
  return files.flatMap(({ flaky }) => flaky).length <= MOST_FLAKY;
}

/** @returns one line for each failed test, so that a long log ends with the cause; nothing if none failed */
export function failureReport(files) {
  const lines = files.flatMap(({ name, failures }) => failures.map((failure) => `  ${name}: ${failure}`));
  if (lines.length === 0) return [];
  const more = lines.length > FAILURES_SHOWN ? [`  and ${lines.length - FAILURES_SHOWN} more`] : [];
  return ['Failed tests:', ...lines.slice(0, FAILURES_SHOWN), ...more];
}

function section(title, times) {
  const slowest = times.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_SHOWN);
  return slowest.length === 0 ? [] : [title, ...slowest.map(({ name, ms }) => `${seconds(ms).padStart(10)}  ${name}`)];
}
