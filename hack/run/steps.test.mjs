import { describe, expect, it } from '@jest/globals';
import { allPassed, runSteps, skippedParts, summary } from './steps.mjs';

const passing = (name, needs) => ({ name, needs, run: async () => ({ ok: true, output: 'not shown' }) });
const failing = (name) => ({ name, run: async () => ({ ok: false, output: 'the reason\n' }) });

describe('the steps of a run', () => {
  it('continue after a failure, print its reason, and skip the steps that need the failed one', async () => {
    const lines = [];
    const steps = [failing('types'), passing('lint'), passing('tests', ['types']), passing('ledger', ['tests'])];
    const results = await runSteps(steps, (line) => lines.push(line.replace(/\d+\.\d s/, '0.0 s')));
    expect(results).toEqual([
      { name: 'types', status: 'failed', ms: expect.any(Number) },
      { name: 'lint', status: 'passed', ms: expect.any(Number) },
      { name: 'tests', status: 'skipped', ms: 0 },
      { name: 'ledger', status: 'skipped', ms: 0 },
    ]);
    expect(lines).toEqual([
      'the reason',
      'FAILED   types (0.0 s)',
      'ok       lint (0.0 s)',
      'skipped  tests: "types" did not pass',
      'skipped  ledger: "tests" did not pass',
    ]);
    expect(summary(results, 2)).toBe('1 passed, 1 failed, 4 skipped');
    expect(allPassed(results)).toBe(false);
  });

  it('run together if they are concurrent neighbours, and before and after the others', async () => {
    const started = [];
    const both = Promise.withResolvers();
    const meeting = (name) => ({
      name,
      needs: ['types'],
      concurrent: true,
      run: async () => {
        if (started.push(name) === 2) both.resolve();
        await both.promise;
        return { ok: name !== 'prose' };
      },
    });
    const last = { name: 'tests', needs: ['dead code'], run: async () => ({ ok: started.length === 2 }) };
    const results = await runSteps([passing('types'), meeting('prose'), meeting('dead code'), last], () => {});
    expect(results.map(({ name, status }) => ({ name, status }))).toEqual([
      { name: 'types', status: 'passed' },
      { name: 'prose', status: 'failed' },
      { name: 'dead code', status: 'passed' },
      { name: 'tests', status: 'passed' },
    ]);
  });

  it('print one line per feature that the machine does not have', () => {
    const line = (part, suite) => JSON.stringify({ part, suite, reason: `No ${part}.`, install: 'Install it.' });
    const lines = [line('valkey', 'bus'), line('searxng', 'search'), line('valkey', 'gateway'), ''].join('\n');
    expect(skippedParts(lines)).toEqual([
      'skipped  valkey, 2 groups of tests: No valkey. Install it.',
      'skipped  searxng, one group of tests: No searxng. Install it.',
    ]);
    expect(skippedParts('')).toEqual([]);
  });
});
