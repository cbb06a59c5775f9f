import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { repositoryRoot, seconds } from './environment.mjs';

const SLOWEST_SHOWN = 10;

/** @returns the duration in milliseconds of each test file from the results of jest; none if there are no results */
export function fileTimes(resultFiles, root = repositoryRoot) {
  return resultFiles.filter(existsSync).flatMap((file) =>
    JSON.parse(readFileSync(file, 'utf8')).testResults.map(({ name, startTime, endTime }) => ({
      name: relative(root, name),
      ms: endTime - startTime,
    })),
  );
}

/** @returns one line for each of the slowest steps and test files, the slowest first */
export function timeReport(steps, files) {
  return [...section('Slowest steps:', steps), ...section('Slowest test files:', files)];
}

function section(title, times) {
  const slowest = times.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_SHOWN);
  return slowest.length === 0 ? [] : [title, ...slowest.map(({ name, ms }) => `${seconds(ms).padStart(10)}  ${name}`)];
}
