import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { citedIds, type LedgerRun, type Proof, type Suite } from './ledger.js';

/** The part of jest's results that the ledger needs. */
export interface TestFileResult {
  testFilePath: string;
  testResults: readonly { fullName: string; status: string }[];
}

/** Returns a test file's suite by its path relative to the repository. */
export function suiteOf(file: string): Suite {
  if (file.endsWith('.int.test.ts')) return 'int';
  return file.startsWith('e2e/') || file.endsWith('.e2e.test.ts') ? 'e2e' : 'unit';
}

/** Returns a record for the file's suite and one for each pair of test and named row. */
export function recordsOf(rootDir: string, result: TestFileResult): (LedgerRun | Proof)[] {
  const file = relative(rootDir, result.testFilePath).split(sep).join('/');
  const suite = suiteOf(file);
  const proofs = result.testResults.flatMap(({ fullName, status }) =>
    citedIds(fullName).map((id) => ({ id, test: fullName, status: statusOf(status), suite, file })),
  );
  return [{ suite, tests: result.testResults.length }, ...proofs];
}

// jest has several states for tests that did not run (pending, todo, disabled).
function statusOf(status: string): Proof['status'] {
  return status === 'passed' || status === 'failed' ? status : 'skipped';
}

/** A jest reporter that appends to USWARM_LEDGER_FILE, which several jest runs can share. */
export default class LedgerReporter {
  readonly #rootDir: string;
  readonly #path: string;

  constructor(globalConfig: { rootDir: string }) {
    const path = process.env['USWARM_LEDGER_FILE'];
    if (!path) throw new Error('USWARM_LEDGER_FILE is not set');
    this.#rootDir = globalConfig.rootDir;
    this.#path = resolve(this.#rootDir, path);
    mkdirSync(dirname(this.#path), { recursive: true });
  }

  onTestFileResult(_test: unknown, result: TestFileResult): void {
    const lines = recordsOf(this.#rootDir, result).map((record) => `${JSON.stringify(record)}\n`);
    appendFileSync(this.#path, lines.join(''));
  }
}
