import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { failureReport, flakyReport, hasFewFlakyTests, testFiles, timeReport } from './test-results.mjs';

describe('the time report', () => {
  it('lists steps and test files, the slowest first', () => {
    const steps = [
      { name: 'lint', ms: 900 },
      { name: 'tests', ms: 61_000 },
    ];
    expect(timeReport(steps, [{ name: 'a.test.ts', ms: 1_500 }])).toEqual([
      'Slowest steps:',
      '    61.0 s  tests',
      '     0.9 s  lint',
      'Slowest test files:',
      '     1.5 s  a.test.ts',
    ]);
  });

  it('lists at most ten entries, and nothing without entries', () => {
    const steps = Array.from({ length: 30 }, (_, index) => ({ name: `step ${index}`, ms: index }));
    expect(timeReport(steps, [])).toHaveLength(11);
    expect(timeReport([], [])).toEqual([]);
  });
});

describe('the results of jest', () => {
  it('has the duration and the failed tests of each file, and ignores missing results', () => {
    const folder = mkdtempSync(join(tmpdir(), 'uswarm-results-'));
    const file = join(folder, 'jest.json');
    const times = { startTime: 1_000, endTime: 3_500 };
    const assertionResults = [
      { status: 'passed', fullName: 'sends', failureMessages: [], invocations: 1 },
      {
        status: 'passed',
        fullName: 'repeats',
        failureMessages: [],
        invocations: 2,
        retryReasons: ['Error: late\n    at x.js'],
      },
      {
        status: 'failed',
        fullName: 'receives',
        failureMessages: ['\u001B[31mError: no answer\u001B[39m\n    at x.js'],
      },
    ];
    const testResults = [
      { name: join(folder, 'src/a.test.ts'), status: 'failed', message: 'all', assertionResults, ...times },
      { name: join(folder, 'src/b.test.ts'), status: 'failed', message: '\n  Cannot find module', ...times },
      { name: join(folder, 'src/c.test.ts'), status: 'passed', message: '', assertionResults: [], ...times },
    ];
    writeFileSync(file, JSON.stringify({ testResults }));
    const files = testFiles([file, join(folder, 'missing.json')], folder);
    expect(files).toEqual([
      { name: 'src/a.test.ts', ms: 2_500, failures: ['receives: Error: no answer'], flaky: ['repeats: Error: late'] },
      { name: 'src/b.test.ts', ms: 2_500, failures: ['Cannot find module'], flaky: [] },
      { name: 'src/c.test.ts', ms: 2_500, failures: [], flaky: [] },
    ]);
    expect(flakyReport(files).slice(1)).toEqual(['  src/a.test.ts: repeats: Error: late']);
    expect(failureReport(files)).toEqual([
      'Failed tests:',
      '  src/a.test.ts: receives: Error: no answer',
      '  src/b.test.ts: Cannot find module',
    ]);
    rmSync(folder, { recursive: true });
  });

  it('accepts at most three flaky tests, and lists all of them', () => {
    const file = (flaky) => [{ name: 'a.test.ts', ms: 1, failures: [], flaky }];
    expect([0, 3, 4].map((count) => hasFewFlakyTests(file(Array.from({ length: count }, () => 'test'))))).toEqual([
      true,
      true,
      false,
    ]);
    expect(flakyReport(file(['first', 'second']))).toHaveLength(3);
    expect(flakyReport(file([]))).toEqual([]);
  });

  it('lists at most twenty failures, and nothing if none failed', () => {
    const failures = Array.from({ length: 30 }, (_, index) => `test ${index}`);
    const report = failureReport([{ name: 'a.test.ts', ms: 1, failures }]);
    expect(report).toHaveLength(22);
    expect(report.at(-1)).toBe('  and 10 more');
    expect(failureReport([{ name: 'a.test.ts', ms: 1, failures: [] }])).toEqual([]);
  });
});
