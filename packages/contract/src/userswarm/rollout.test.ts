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

describe('a rollout grant', () => {
  it.each([
    ['after the wait started', '2030-01-01T00:00:11.500Z'],
    ['in the same second', '2030-01-01T00:00:10Z'],
  ])('is valid if it was given %s', (_when, time) => {
    expect(rolloutGrantOf(given(time), waits)).toEqual({ revision: 'r2', forced: false });
    expect(rolloutGrantOf(given(time, true), waits)).toEqual({ revision: 'r2', forced: true });
  });

  it.each([
    ['before the wait started', '2030-01-01T00:00:09.999Z'],
    ['without a time', undefined],
    ['with an invalid time', 'now'],
  ])('is invalid if it was given %s, even if forced', (_when, time) => {
    expect(rolloutGrantOf(given(time, true), waits)).toBeUndefined();
  });

  it.each(['True', 'Unknown'] as const)('is ignored if the runtime does not wait: UpToDate is %s', (status) => {
    expect(rolloutGrantOf(given('2030-01-01T00:00:11Z', true), { conditions: [upToDate(status)] })).toBeUndefined();
  });

  it('is ignored without status or without annotations', () => {
    expect(rolloutGrantOf(given('2030-01-01T00:00:11Z'), undefined)).toBeUndefined();
    expect(rolloutGrantOf({}, waits)).toBeUndefined();
  });
});
