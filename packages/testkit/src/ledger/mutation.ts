import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { loadLedger, parseResults, type Proof } from './ledger.js';
import { filesNaming, greenIds, mutantsOf, namePattern, notGreenIds, type Mutant } from './mutants.js';

const TESTS = 'services/orchestrator/';
const RUN_TIMEOUT_MS = 10 * 60_000;

interface JestRun {
  ids: readonly string[];
  /** Default: all integration tests in the orchestrator. */
  files?: readonly string[];
  mutate?: string;
}

/** Runs the tests that name `ids` in a separate jest and returns their results. */
async function runJest(scratch: string, { ids, files, mutate }: JestRun): Promise<Proof[]> {
  const resultsFile = join(scratch, `${mutate ?? 'control'}.jsonl`);
  const args = [
    '--experimental-vm-modules',
    resolve('node_modules/jest/bin/jest.js'),
    '--selectProjects',
    'int',
    '--maxWorkers=1',
    `--testNamePattern=${namePattern(ids)}`,
    ...(files ? ['--runTestsByPath', ...files] : [`--testPathPatterns=${TESTS}`]),
  ];
  const { USWARM_MUTATE_ROUTE: _, ...env } = process.env;
  const output = await outputOf(args, {
    ...env,
    USWARM_LEDGER_FILE: resultsFile,
    ...(mutate !== undefined && { USWARM_MUTATE_ROUTE: mutate }),
  });
  // jest exits with 1 for failed tests too, so only missing results show that it did not run.
  const jsonl = await readFile(resultsFile, 'utf8').catch(() => {
    throw new Error(`jest wrote no results:\n${output.slice(-4_000)}`);
  });
  // Excluded tests are recorded as skipped; a test can name other rows too.
  return parseResults(jsonl).proofs.filter(({ id, status }) => ids.includes(id) && status !== 'skipped');
}

function outputOf(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: AbortSignal.timeout(RUN_TIMEOUT_MS),
    });
    let output = '';
    const keep = (chunk: string) => {
      output = (output + chunk).slice(-64_000);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.once('error', fail).once('close', () => done(output));
  });
}

/** Runs up to `parallel` mutants concurrently and counts the undetected ones. */
async function checkAll(
  mutants: readonly Mutant[],
  parallel: number,
  greenRows: (mutant: Mutant) => Promise<string[]>,
): Promise<number> {
  const waiting = mutants.values();
  let survivors = 0;
  const work = async () => {
    for (const mutant of waiting) {
      const green = await greenRows(mutant);
      if (green.length > 0) survivors += 1;
      console.log(
        `${mutant.route.padEnd(24)} ${green.length > 0 ? `GREEN ${green.join(' ')}` : `red   ${mutant.ids.join(' ')}`}`,
      );
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return survivors;
}

/** @returns whether the tests of all proven rows with a route pass with its handler and fail without it */
async function check(mutants: readonly Mutant[], parallel: number): Promise<boolean> {
  const scratch = await mkdtemp(join(tmpdir(), 'uswarm-mutation-'));
  try {
    const ids = mutants.flatMap((mutant) => mutant.ids);
    const control = await runJest(scratch, { ids });
    const broken = notGreenIds(ids, control);
    if (broken.length > 0) {
      console.log(`not proven even with every route in place: ${broken.join(' ')}`);
      return false;
    }
    const survivors = await checkAll(mutants, parallel, async ({ route, ids: rows }) =>
      greenIds(rows, await runJest(scratch, { ids: rows, files: filesNaming(rows, control), mutate: route })),
    );
    console.log(`${mutants.length} routes, ${survivors} with rows that stay green`);
    return survivors === 0;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Starts the integration test servers once; each jest gets their URLs in its environment. */
async function withServers<T>(body: () => Promise<T>): Promise<T> {
  const load = async (file: string): Promise<() => Promise<void>> => {
    const module = (await import(pathToFileURL(resolve('hack/jest', file)).href)) as {
      default: () => Promise<void>;
    };
    return module.default;
  };
  const [start, stop] = await Promise.all([load('servers.mjs'), load('stop-servers.mjs')]);
  await start();
  try {
    return await body();
  } finally {
    await stop();
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      ledger: { type: 'string', default: 'docs/requirements.json' },
      route: { type: 'string', multiple: true },
      parallel: { type: 'string', default: '2' },
    },
  });
  const parallel = z.coerce.number().int().min(1).parse(values.parallel);
  const all = mutantsOf(await loadLedger(values.ledger));
  const wanted = values.route ?? all.map(({ route }) => route);
  const mutants = all.filter(({ route }) => wanted.includes(route));
  const unknown = wanted.filter((name) => !all.some(({ route }) => route === name));
  if (unknown.length > 0) throw new Error(`no proven row names the route ${unknown.join(', ')}`);
  if (mutants.length === 0) {
    console.log('no proven row names a route: nothing to check');
    return;
  }
  const ok = await withServers(() => check(mutants, parallel));
  process.exitCode = ok ? 0 : 1;
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    console.error(`mutation check: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  });
}
