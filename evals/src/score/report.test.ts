import { describe, expect, it } from '@jest/globals';
import type { Trial } from '../run/run-task.js';
import { summarize, table } from './report.js';

const trial = (task: string, category: string, passed: boolean): Trial => ({
  task,
  category,
  passed,
  problems: [],
  promptTokens: 900,
  completionTokens: 100,
  modelCalls: 2,
  seconds: 1.5,
});
const times = (count: number, one: Trial): Trial[] => Array.from({ length: count }, () => one);
const PRICES = { input: 1_000_000, output: 5_000_000 };

describe('the report', () => {
  const trials = [
    ...times(4, trial('a', 'tools', true)),
    ...times(3, trial('b', 'tools', true)),
    trial('b', 'tools', false),
    ...times(4, trial('c', 'memory', false)),
  ];

  it('has the mean over tasks of pass^1 and pass^4, per category and in all', () => {
    const rows = summarize(trials, PRICES).map(({ category, pass1, pass4 }) => ({ category, pass1, pass4 }));
    expect(rows).toEqual([
      { category: 'tools', pass1: 0.875, pass4: 0.5 },
      { category: 'memory', pass1: 0, pass4: 0 },
      { category: 'all', pass1: (1 + 0.75) / 3, pass4: 1 / 3 },
    ]);
  });

  it('has calls, tokens, cost and time', () => {
    const { calls, tokens, usd, seconds } = summarize(trials, PRICES).at(-1)!;
    // Each of 12 runs has 2 calls, 900 prompt tokens at 1 USD and 100 completion tokens at 5 USD per million.
    const expected = { calls: 24, tokens: 12_000, usd: expect.closeTo(0.0168), seconds: 18 };
    expect({ calls, tokens, usd, seconds }).toEqual(expected);
  });

  it('does not count runs that could not be judged', () => {
    const [row] = summarize(
      [...times(4, trial('a', 'tools', true)), { ...trial('a', 'tools', false), harnessError: 'x' }],
      PRICES,
    );
    expect(row).toMatchObject({ trials: 4, harnessErrors: 1, pass1: 1, pass4: 1, tokens: 4_000 });
  });

  it('has no pass^4 with fewer than four runs of a task', () => {
    const [row] = summarize(times(3, trial('a', 'tools', true)), PRICES);
    expect(row).toMatchObject({ pass1: 1, pass4: null });
  });

  it('is printed as a table', () => {
    expect(table(summarize(times(4, trial('a', 'tools', true)), PRICES)).split('\n')).toEqual([
      'category  tasks  runs   pass^1   pass^4  calls  tokens  cost (USD)  time (s)',
      'tools         1     4  100.0 %  100.0 %      8   4,000      0.0056       6.0',
      'all           1     4  100.0 %  100.0 %      8   4,000      0.0056       6.0',
    ]);
  });
});
