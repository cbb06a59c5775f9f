import { expect, it } from '@jest/globals';
import { type ScheduleFigures, scheduleTable } from './schedule-table.js';

const EVEN = { p50: 160, p95: 180, p99: 190, max: 200 };
const FIGURES: ScheduleFigures = {
  schedules: 10_000,
  orchestrators: 2,
  spreadS: 60,
  runs: 10_000,
  messages: 10_000,
  twice: 0,
  perSecond: EVEN,
  late: { p50: 100, p95: 200, p99: 300, max: 400 },
  lastS: 61,
};

it('meets its goals if each schedule starts once, spread over the minute', () => {
  expect(scheduleTable(FIGURES)).not.toContain('NO');
});

it.each([
  ['a schedule sends two messages', { twice: 1 }],
  ['a schedule does not start', { runs: 9_999 }],
  ['starts crowd in a second', { perSecond: { ...EVEN, max: 2_000 } }],
])('misses a goal if %s', (_, changes) => {
  expect(scheduleTable({ ...FIGURES, ...changes }).match(/NO/g)).toHaveLength(1);
});
