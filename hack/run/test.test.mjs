import { describe, expect, it } from '@jest/globals';
import { selectSteps } from './test.mjs';

const files = { skips: 'skips.jsonl', ledger: 'ledger.jsonl', results: 'jest.json' };
const names = (args) => selectSteps(args, files).map(({ name }) => name);

describe('npm test', () => {
  it('runs every step except the mutation check of routes', () => {
    expect(names([])).toEqual([
      'format',
      'lint',
      'commit subjects',
      'types',
      'prose',
      'dead code',
      'dependency direction',
      'tests',
      'requirement ledger',
      'mutation check of turns',
    ]);
  });

  it('runs the mutation check of routes with --all', () => {
    expect(names(['--all'])).toEqual([...names([]), 'mutation check of routes']);
  });

  it('compiles the sources and runs the selected tests if it has jest arguments', () => {
    expect(names(['services/orchestrator', '--selectProjects', 'unit'])).toEqual(['sources', 'tests']);
    expect(names(['--all', 'server-faults'])).toEqual(['sources', 'tests']);
  });
});
