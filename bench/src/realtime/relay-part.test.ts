import { expect, it } from '@jest/globals';
import { textOf } from './run-realtime.js';
import { relayResult } from './relay-part.js';

it('the table of the relay compares replicas and judges the goals', () => {
  const rates = [
    { delay: '0.3 ms', one: 6_000, two: 7_000, limited: { one: 4_000, two: 7_200 } },
    { delay: '5 ms', one: 2_500, two: 4_000, limited: undefined },
  ];
  const text = textOf({ title: 'Relay' }, relayResult({ rates, quiet: [10, 20, 600] }));
  expect(text).toContain('| 0.3 ms, 0.25 cores per replica | 4000 | 7200 | 1.80 |');
  expect(text.match(/(yes|NO) \|$/gm)).toEqual(['yes |', 'NO |', 'yes |', 'NO |', 'NO |']);
});
