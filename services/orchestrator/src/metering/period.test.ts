import { expect, it } from '@jest/globals';
import { nextPeriodAt, periodOf } from './period.js';

it.each([
  ['2026-11-21T10:00:00.000Z', '2026-11', '2026-12-01T00:00:00.000Z'],
  ['2026-11-30T23:59:59.999Z', '2026-11', '2026-12-01T00:00:00.000Z'],
  ['2026-12-01T00:00:00.000Z', '2026-12', '2027-01-01T00:00:00.000Z'],
  ['2027-01-01T01:00:00.000+02:00', '2026-12', '2027-01-01T00:00:00.000Z'],
  ['2028-02-29T12:00:00.000Z', '2028-02', '2028-03-01T00:00:00.000Z'],
])('%s is in the period %s, which ends at %s', (moment, period, end) => {
  expect(periodOf(new Date(moment))).toEqual(period);
  expect(nextPeriodAt(new Date(moment)).toISOString()).toEqual(end);
});
