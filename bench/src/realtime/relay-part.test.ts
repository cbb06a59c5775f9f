import { expect, it } from '@jest/globals';
import { textOf } from './run-realtime.js';
import { relayResult } from './relay-part.js';

it('the table of the relay compares replicas and judges the goals', () => {
  const rates = [
    { delay: '0.3 ms', one: 6_000, two: 10_800 },
    { delay: '5 ms', one: 2_500, two: 4_000 },
  ];
  const text = textOf({ title: 'Relay' }, relayResult({ rates, quiet: [10, 20, 600] }));
  expect(text).toContain('| 0.3 ms | 6000 | 10800 | 1.80 |');
  expect(text.match(/(yes|NO) \|$/gm)).toEqual(['yes |', 'NO |', 'yes |', 'NO |', 'NO |']);
});
