import { expect, it } from '@jest/globals';
import { textOf } from './run-realtime.js';
import { middleRate, relayResult } from './relay-part.js';

it('the table of the relay compares replicas and judges the goals', () => {
  const rates = [
    { delay: '0.3 ms', one: 6_000, two: 7_000, limited: { one: 4_000, two: 7_200 } },
    { delay: '5 ms', one: 2_500, two: 4_000, limited: undefined },
  ];
  const text = textOf({ title: 'Relay' }, relayResult({ rates, quiet: [10, 20, 600] }));
  expect(text).toContain('| 0.3 ms, 0.25 cores per replica | 4000 | 7200 | 1.80 |');
  expect(text.match(/(yes|NO) \|$/gm)).toEqual(['yes |', 'NO |', 'yes |', 'NO |', 'NO |']);
});

it('the rate of the relay is that of the middle half of the backlog', () => {
  const samples = [
    { at: 0, left: 1_000 },
    { at: 500, left: 1_000 },
    { at: 1_000, left: 740 },
    { at: 3_000, left: 240 },
    { at: 9_000, left: 0 },
  ];
  expect(middleRate(samples, 1_000)).toBe(250);
  expect(middleRate(samples.slice(0, 3), 1_000)).toBeUndefined();
});
