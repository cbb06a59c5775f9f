import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from './build.mjs';
import { JEST, nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { checkMutations } from '../mutations/check.mjs';
import { commitsStep } from './commits.mjs';
import { runForeground } from './foreground.mjs';
import { proseStep } from './prose.mjs';
import { runQuietly } from './quiet.mjs';
import { createRunFolder } from './run-folder.mjs';
import { allPassed, runSteps, skippedParts, summary } from './steps.mjs';
import { failureReport, flakyReport, hasFewFlakyTests, testFiles, timeReport } from './test-results.mjs';

const TYPES = 'types';
const SOURCES = 'sources';
const TESTS = 'tests';
const LEDGER = 'requirement ledger';

const CHECKED_FOLDERS = ['packages', 'services', 'charts', 'e2e', 'bench', 'evals'];
/**
 * `npm test`: every check and the core tests; with `--all` also hack/jest/further-tests, the route mutation check, all
 * fault combinations, and more generated cases, which takes much longer. Other arguments are passed to jest and select tests: only these run, after the
 * sources are compiled.
 *
 * @returns the exit code
 */
export async function runTests(args) {
  const folder = createRunFolder();
  try {
    const files = {
      folder,
      skips: join(folder, 'skips.jsonl'),
      ledger: join(folder, 'ledger.jsonl'),
      results: join(folder, 'jest.json'),
      // Programs that tests start again and again are compiled once per run.
      compileCache: join(folder, 'compile-cache'),
    };
    const results = await runSteps(selectSteps(args, files));
    const skipped = skippedParts(existsSync(files.skips) ? readFileSync(files.skips, 'utf8') : '');
    const ran = testFiles([files.results]);
    for (const line of [...timeReport(results, ran), ...skipped, ...flakyReport(ran), ...failureReport(ran)])
      console.log(line);
    console.log(summary(results, skipped.length));
    return allPassed(results) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** @returns the steps that these arguments of `npm test` select */
export function selectSteps(args, files) {
  const all = args.includes('--all');
  const selection = args.filter((arg) => arg !== '--all');
  const variables = {
    USWARM_SKIPS_FILE: files.skips,
    NODE_COMPILE_CACHE: files.compileCache,
    TMPDIR: files.folder,
    ...(all && { USWARM_ALL_TESTS: '1' }),
  };
  if (selection.length > 0) return [compileSources(), tests({ needs: [SOURCES], args: selection, variables })];
  return [...standardSteps(files, variables, all), ...(all ? [routeMutationCheck(files.ledger)] : [])];
}

/** `npm run types`: compiles the sources, and checks test types too. @returns the exit code */
export async function checkTypes() {
  const results = await runSteps([typeCheck()]);
  return allPassed(results) ? 0 : 1;
}

function standardSteps({ skips, ledger, results }, variables, all) {
  return [
    tool('format', 'oxfmt', ['--check'], 'Run `npm run format`.'),
    tool('lint', 'oxlint', ['--deny-warnings']),
    commitsStep(),
    typeCheck(),
    // Each of these uses one core.
    ...[
      proseStep({ needs: [TYPES], skipsFile: skips }),
      tool('dead code', 'knip', ['--no-progress', '--no-config-hints']),
      tool('dependency direction', 'depcruise', ['--config', '.dependency-cruiser.cjs', ...CHECKED_FOLDERS]),
    ].map((step) => ({ ...step, concurrent: true })),
    tests({
      needs: [TYPES],
      args: ['--json', `--outputFile=${results}`],
      variables: {
        ...variables,
        ...(!all && { USWARM_CORE_TESTS: '1' }),
        USWARM_RETRY_TESTS: '1',
        USWARM_LEDGER_FILE: ledger,
      },
      accept: () => hasFewFlakyTests(testFiles([results])),
    }),
    ledgerProgram({ name: LEDGER, needs: [TESTS], script: 'report.js', ledger }),
    turnMutationCheck(),
  ];
}

function environment(more = {}) {
  return { ...serviceEnvironment(), ...more };
}

function tool(name, bin, args, advice = '') {
  return {
    name,
    run: async () => {
      const { code, output } = await runQuietly(join(repositoryRoot, 'node_modules/.bin', bin), args, {
        cwd: repositoryRoot,
        env: environment(),
      });
      return { ok: code === 0, output: `${output}\n${advice}` };
    },
  };
}

async function compileWith(args) {
  const { code, output } = await compile(args);
  return { ok: code === 0, output };
}

/** Jest does not check types. */
function compileSources() {
  return { name: SOURCES, run: () => compileWith(['-b']) };
}

function typeCheck() {
  return {
    name: TYPES,
    run: async () => {
      const sources = await compileWith(['-b']);
      return sources.ok ? compileWith(['-p', 'tsconfig.test.json']) : sources;
    },
  };
}

/**
 * @param needs a step that compiles the programs that integration tests start
 * @param accept false if the step fails although no test did
 */
function tests({ needs, args, variables, accept = () => true }) {
  return {
    name: TESTS,
    needs,
    run: async () => {
      const code = await runForeground(nodeBinary, [...JEST, ...args], {
        cwd: repositoryRoot,
        env: environment(variables),
        interactive: true,
      });
      return { ok: code === 0 && accept() };
    },
  };
}

/** Verifies that tests fail when a promise about tool calls is broken. */
function turnMutationCheck() {
  return { name: 'mutation check of turns', needs: [TESTS], run: async () => ({ ok: await checkMutations() }) };
}

/** Verifies that tests fail for an unimplemented route. */
function routeMutationCheck(ledger) {
  return ledgerProgram({ name: 'mutation check of routes', needs: [LEDGER], script: 'mutation.js', ledger });
}

function ledgerProgram({ name, needs, script, ledger }) {
  return {
    name,
    needs,
    run: async () => {
      const code = await runForeground(nodeBinary, [join(repositoryRoot, 'packages/testkit/dist/ledger', script)], {
        cwd: repositoryRoot,
        env: environment({ USWARM_LEDGER_FILE: ledger }),
        interactive: false,
      });
      return { ok: code === 0 };
    },
  };
}
