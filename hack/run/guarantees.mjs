import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guaranteesPage } from '../guarantees/page.mjs';
import { JEST, nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runForeground } from './foreground.mjs';

export const GUARANTEES_USAGE = `Usage: npm run guarantees
Runs all kill and injection tests, and writes docs/guarantees.md from their results. About 25 minutes.`;

/** Test files by section of the page. */
const FILES = {
  kills: /call-faults\.int/,
  outages: /call-outages\.int/,
  ownData: /requested-tools\.int/,
  injections: /injections[\w-]*\.int/,
};

/** Jest's report as the page takes it. */
function resultsOf({ testResults }) {
  const ofFile = (pattern) =>
    testResults.filter(({ name }) => pattern.test(name)).flatMap(({ assertionResults }) => assertionResults);
  const { ownData, ...others } = Object.fromEntries(
    Object.entries(FILES).map(([key, pattern]) => [key, ofFile(pattern)]),
  );
  return { ...others, ownData: ownData.filter(({ title }) => title.includes('is saved once')) };
}

/** @returns the exit code */
export async function runGuarantees() {
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-guarantees-'));
  try {
    const file = join(folder, 'jest.json');
    const tests = ['call-faults', 'call-outages', 'requested-tools', 'injections'].map(
      (name) => `services/local/src/${name}`,
    );
    const code = await runForeground(nodeBinary, [...JEST, '--json', '--outputFile', file, ...tests], {
      cwd: repositoryRoot,
      env: { ...serviceEnvironment(), USWARM_ALL_TESTS: '1' },
      interactive: true,
    });
    if (code !== 0) return code;
    const day = new Date().toLocaleDateString('en-GB', { dateStyle: 'long' });
    const page = guaranteesPage(resultsOf(JSON.parse(readFileSync(file, 'utf8'))), day);
    writeFileSync(join(repositoryRoot, 'docs/guarantees.md'), page);
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
