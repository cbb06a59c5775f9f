import { describe, expect, it } from '@jest/globals';
import { readyUntil } from './readiness.js';
import type { Condition, UserSwarmStatus } from './resource.js';

const at = (second: number): string => `2030-01-01T00:00:${String(second).padStart(2, '0')}Z`;
const status = (ready: [Condition['status'], number], suspended: [Condition['status'], number]): UserSwarmStatus => ({
  conditions: [
    { type: 'Ready', status: ready[0], lastTransitionTime: at(ready[1]), reason: 'Any', message: '' },
    { type: 'Suspended', status: suspended[0], lastTransitionTime: at(suspended[1]), reason: 'Any', message: '' },
  ],
});

describe('readyUntil', () => {
  it.each<[what: string, status: UserSwarmStatus | undefined, until: string | undefined]>([
    ['has no status', undefined, undefined],
    ['was just created', status(['False', 1], ['False', 1]), undefined],
    ['is Ready', status(['True', 5], ['False', 1]), undefined],
    ['lost Ready', status(['False', 9], ['False', 1]), at(9)],
    ['is suspended', status(['False', 9], ['True', 9]), undefined],
    ['was resumed and is starting', status(['False', 9], ['False', 12]), undefined],
    ['was resumed, became Ready and lost it', status(['False', 20], ['False', 12]), at(20)],
  ])('returns the time of a runtime that %s', (_what, given, until) => {
    expect(readyUntil(given)).toBe(until);
  });
});
