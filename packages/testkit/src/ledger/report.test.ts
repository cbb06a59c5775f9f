import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadLedger, serializeLedger, type Requirement } from './ledger.js';
import { report } from './report.js';
import { recordsOf, suiteOf } from './reporter.js';

const row = (id: string, state: Requirement['state']): Requirement => ({
  id,
  spec: 'orchestrator §4.1',
  text: `the rule of ${id}`,
  suite: 'int',
  state,
});

let folder: string;
let ledger: string;
let results: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-ledger-'));
  ledger = join(folder, 'requirements.json');
  results = join(folder, 'results.jsonl');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function given(rows: Requirement[], tests: { fullName: string; status: string }[]): Promise<void> {
  await writeFile(ledger, serializeLedger(rows));
  const records = recordsOf('/repo', {
    testFilePath: '/repo/services/x/src/x.int.test.ts',
    testResults: tests,
  });
  await writeFile(results, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
}

describe('report', () => {
  it('succeeds if the states match the tests', async () => {
    await given(
      [row('REST-001', 'proven'), row('REST-002', 'open')],
      [{ fullName: 'routes REST-001 health', status: 'passed' }],
    );
    const { ok, lines } = await report({ ledger, results });
    expect(ok).toBe(true);
    expect(lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });

  it('reports lost proofs, unmarked rows and unknown ids', async () => {
    await given(
      [row('REST-001', 'proven'), row('REST-002', 'open')],
      [
        { fullName: 'REST-001 health', status: 'failed' },
        { fullName: 'REST-002 models', status: 'passed' },
        { fullName: 'REST-777 nothing', status: 'passed' },
      ],
    );
    const { ok, lines } = await report({ ledger, results });
    expect(ok).toBe(false);
    expect(lines.filter((line) => line.startsWith('error'))).toEqual([
      'error: REST-001 is marked proven, but a test that names it fails',
      'error: REST-002 has a passing test: mark it proven (--write)',
      'error: services/x/src/x.int.test.ts names REST-777, which the ledger does not have: REST-777 nothing',
    ]);
  });

  it('writes the states of the tests and succeeds afterwards', async () => {
    await given(
      [row('REST-001', 'proven'), row('REST-002', 'open')],
      [{ fullName: 'REST-002 models', status: 'passed' }],
    );
    expect((await report({ ledger, results, write: true })).ok).toBe(true);
    expect((await loadLedger(ledger)).map(({ state }) => state)).toEqual(['open', 'proven']);
    expect((await report({ ledger, results })).ok).toBe(true);
  });

  it('accepts a skipped proof only if skips are not errors', async () => {
    await given([row('REST-001', 'proven')], [{ fullName: 'REST-001 health', status: 'pending' }]);
    expect((await report({ ledger, results })).ok).toBe(true);
    expect((await report({ ledger, results, skipsAreErrors: true })).ok).toBe(false);
  });

  it('reports all proven rows of a required suite that did not run', async () => {
    await given([row('REST-001', 'proven')], []);
    await writeFile(results, '');
    expect((await report({ ledger, results, suites: ['int'] })).ok).toBe(false);
  });
});

describe('suiteOf', () => {
  it.each([
    ['services/x/src/a.test.ts', 'unit'],
    ['services/x/src/a.int.test.ts', 'int'],
    ['e2e/install.test.ts', 'e2e'],
    ['services/x/src/e2e/bypass.test.ts', 'unit'],
  ])('%s belongs to %s', (file, suite) => {
    expect(suiteOf(file)).toBe(suite);
  });
});
