import { describe, expect, it } from '@jest/globals';
import type { Condition } from './resource.js';
import { rolloutGrantOf, ROLLOUT } from './rollout.js';

const upToDate = (status: Condition['status']): Condition => ({
  type: 'UpToDate',
  status,
  reason: 'x',
  message: '',
  lastTransitionTime: '2030-01-01T00:00:10Z',
});
const given = (time: string | undefined, forced = false) => ({
  annotations: {
    [ROLLOUT.revision]: 'r2',
    ...(time === undefined ? {} : { [ROLLOUT.time]: time }),
    ...(forced ? { [ROLLOUT.forced]: 'true' } : {}),
  },
});
const waits = { conditions: [upToDate('False')] };

describe('a go-ahead', () => {
  it.each([
    ['after it began to wait', '2030-01-01T00:00:11.500Z'],
    ['in the very second', '2030-01-01T00:00:10Z'],
  ])('counts that was given %s', (_when, time) => {
    expect(rolloutGrantOf(given(time), waits)).toEqual({ revision: 'r2', forced: false });
    expect(rolloutGrantOf(given(time, true), waits)).toEqual({ revision: 'r2', forced: true });
  });

  it.each([
    ['before that', '2030-01-01T00:00:09.999Z'],
    ['at no time', undefined],
    ['at a time that is none', 'now'],
  ])('does not count that was given %s, also if forced', (_when, time) => {
    expect(rolloutGrantOf(given(time, true), waits)).toBeUndefined();
  });

  it.each(['True', 'Unknown'] as const)('is none of one that does not wait: UpToDate %s', (status) => {
    expect(rolloutGrantOf(given('2030-01-01T00:00:11Z', true), { conditions: [upToDate(status)] })).toBeUndefined();
  });

  it('is none of one of which nothing is known, or to which nothing was given', () => {
    expect([rolloutGrantOf(given('2030-01-01T00:00:11Z'), undefined), rolloutGrantOf({}, waits)]).toEqual([
      undefined,
      undefined,
    ]);
  });
});
