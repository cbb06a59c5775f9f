import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { fileTimes, timeReport } from './timings.mjs';

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

  it('reads the durations of files from the results of jest, and ignores missing results', () => {
    const folder = mkdtempSync(join(tmpdir(), 'uswarm-timings-'));
    const file = join(folder, 'jest.json');
    const testResults = [{ name: join(folder, 'src/a.test.ts'), startTime: 1_000, endTime: 3_500 }];
    writeFileSync(file, JSON.stringify({ testResults }));
    expect(fileTimes([file, join(folder, 'missing.json')], folder)).toEqual([{ name: 'src/a.test.ts', ms: 2_500 }]);
    rmSync(folder, { recursive: true });
  });
});
