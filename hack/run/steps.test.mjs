import { describe, expect, it } from '@jest/globals';
import { runSteps, skippedParts, summary } from './steps.mjs';

const passing = (name, needs) => ({ name, needs, run: async () => ({ ok: true, output: 'not shown' }) });
const failing = (name) => ({ name, run: async () => ({ ok: false, output: 'the reason\n' }) });

describe('npm test', () => {
  it('runs every step, shows the reason of a failure, and skips what stands on it', async () => {
    const lines = [];
    const steps = [failing('types'), passing('lint'), passing('tests', ['types']), passing('ledger', ['tests'])];
    const results = await runSteps(steps, (line) => lines.push(line.replace(/\d+\.\d s/, '0.0 s')));
    expect([...results]).toEqual([
      ['types', 'failed'],
      ['lint', 'passed'],
      ['tests', 'skipped'],
      ['ledger', 'skipped'],
    ]);
    expect(lines).toEqual([
      'the reason',
      'FAILED   types (0.0 s)',
      'ok       lint (0.0 s)',
      'skipped  tests: "types" did not pass',
      'skipped  ledger: "tests" did not pass',
    ]);
    expect(summary(results, 2)).toBe('1 passed, 1 failed, 4 skipped');
  });

  it('says once for each part that the machine lacks what to install', () => {
    const line = (part, suite) => JSON.stringify({ part, suite, reason: `No ${part}.`, install: 'Install it.' });
    const lines = [line('valkey', 'bus'), line('searxng', 'search'), line('valkey', 'gateway'), ''].join('\n');
    expect(skippedParts(lines)).toEqual([
      'skipped  valkey, 2 groups of tests: No valkey. Install it.',
      'skipped  searxng, one group of tests: No searxng. Install it.',
    ]);
    expect(skippedParts('')).toEqual([]);
  });
});
