import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { citedIds, type LedgerRun, type Proof, type Suite } from './ledger.js';

/** The part of jest's results that the ledger reads. */
export interface TestFileResult {
  testFilePath: string;
  testResults: readonly { fullName: string; status: string }[];
}

/** The suite of a test file, by its path below the repository's root. */
export function suiteOf(file: string): Suite {
  if (file.endsWith('.int.test.ts')) return 'int';
  return file.startsWith('e2e/') || file.endsWith('.e2e.test.ts') ? 'e2e' : 'unit';
}

/** One record for each (test, row named), after one that says that the file's suite ran. */
export function recordsOf(rootDir: string, result: TestFileResult): (LedgerRun | Proof)[] {
  const file = relative(rootDir, result.testFilePath).split(sep).join('/');
  const suite = suiteOf(file);
  const proofs = result.testResults.flatMap(({ fullName, status }) =>
    citedIds(fullName).map((id) => ({ id, test: fullName, status: statusOf(status), suite, file })),
  );
  return [{ suite, tests: result.testResults.length }, ...proofs];
}

// jest knows several ways of not running a test (pending, todo, disabled): none of them proves anything.
function statusOf(status: string): Proof['status'] {
  return status === 'passed' || status === 'failed' ? status : 'skipped';
}

/** jest reporter: appends to USWARM_LEDGER_FILE, so that several jest runs share one file. */
export default class LedgerReporter {
  readonly #rootDir: string;
  readonly #path: string;

  constructor(globalConfig: { rootDir: string }) {
    const path = process.env['USWARM_LEDGER_FILE'];
    if (!path) throw new Error('USWARM_LEDGER_FILE must name the file for the results');
    this.#rootDir = globalConfig.rootDir;
    this.#path = resolve(this.#rootDir, path);
    mkdirSync(dirname(this.#path), { recursive: true });
  }

  onTestFileResult(_test: unknown, result: TestFileResult): void {
    const lines = recordsOf(this.#rootDir, result).map((record) => `${JSON.stringify(record)}\n`);
    appendFileSync(this.#path, lines.join(''));
  }
}
