import { describe, expect, it } from '@jest/globals';
import { durationOf } from './duration.js';

const BEGIN = Date.parse('2026-01-01T10:00:00Z');
const call = (state: string, from: number, to = from) => ({
  state,
  message: { created_at: new Date(BEGIN + from).toISOString(), updated_at: new Date(BEGIN + to).toISOString() },
});

describe('durationOf', () => {
  it.each([
    ['a call that has just begun', [call('running', 0)], 9_000, ''],
    ['a call that runs for long', [call('running', 0)], 75_000, '1 min 15 s'],
    ['calls that ended', [call('completed', 0, 1_200), call('failed', 1_000, 3_400)], 99_000, '3.4 s'],
    ['no call', [], 0, ''],
  ])('describes %s', (_, calls, now, text) => {
    expect(durationOf(calls, BEGIN + now)).toBe(text);
  });
});
