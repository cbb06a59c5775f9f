import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { JEST, nodeBinary, repositoryRoot, serviceEnvironment } from '../run/environment.mjs';
import { runQuietly } from '../run/quiet.mjs';
import { MUTATIONS } from './mutations.mjs';

const escaped = (text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Runs tests by their names, with a mutation or without. @returns {Promise<Map<string, string>>} status by `file: name` */
async function runNamed(tests, mutation, folder) {
  const results = join(folder, 'results.json');
  const { output } = await runQuietly(
    nodeBinary,
    [
      ...JEST,
      '--selectProjects',
      'unit',
      '--json',
      `--outputFile=${results}`,
      `--testNamePattern=(${[...new Set(tests.map(({ name }) => escaped(name)))].join('|')})$`,
      '--runTestsByPath',
      ...new Set(tests.map(({ file }) => file)),
    ],
    { cwd: repositoryRoot, env: { ...serviceEnvironment(), USWARM_MUTATION: mutation?.name ?? 'none' } },
  );
  const { testResults } = readResults(results, output);
  return new Map(
    testResults.flatMap(({ name: path, assertionResults }) =>
      assertionResults.map(({ title, status }) => [`${relative(repositoryRoot, path)}: ${title}`, status]),
    ),
  );
}

function readResults(file, output) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new Error(`jest wrote no results:\n${output.slice(-4_000)}`);
  } finally {
    rmSync(file, { force: true });
  }
}

/** The tests that do not have this status. */
const without = (tests, results, status) =>
  tests.map(({ file, name }) => `${file}: ${name}`).filter((test) => results.get(test) !== status);

/** Verifies that the named tests pass, and that each of them fails with its mutation. @returns whether they do */
export async function checkMutations(print = console.log) {
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-mutations-'));
  try {
    const all = MUTATIONS.flatMap(({ tests }) => tests);
    const broken = without(all, await runNamed(all, undefined, folder), 'passed');
    if (broken.length > 0) {
      print(`These tests do not pass without a mutation:\n${broken.join('\n')}`);
      return false;
    }
    let survivors = 0;
    for (const mutation of MUTATIONS) {
      const green = without(mutation.tests, await runNamed(mutation.tests, mutation, folder), 'failed');
      if (green.length > 0) survivors += 1;
      print(
        `${green.length === 0 ? 'red  ' : 'GREEN'} ${mutation.name}${green.map((test) => `\n      ${test}`).join('')}`,
      );
    }
    return survivors === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
