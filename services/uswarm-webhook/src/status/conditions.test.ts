import { describe, expect, it } from '@jest/globals';
import { type Finding, stampConditions } from './conditions.js';

const stamp = { previous: [], generation: 1, now: new Date('2026-11-21T10:00:00Z') };

/** A condition's stored message. */
function stored(message: string): string {
  const finding: Finding = { status: 'False', reason: 'Starting', message };
  const [first] = stampConditions(
    {
      Ready: finding,
      ConfigValid: finding,
      DependenciesReachable: finding,
      RuntimeAvailable: finding,
      Suspended: finding,
      UpToDate: finding,
    },
    stamp,
  );
  return first!.message;
}

describe('the message of a condition', () => {
  it('has at most 1024 characters', () => {
    expect(stored('x'.repeat(1024))).toBe('x'.repeat(1024));
    expect(stored('x'.repeat(1025))).toBe(`${'x'.repeat(1023)}…`);
  });

  it('is never cut within a character, because the API server would store another text on each reconcile', () => {
    for (const start of ['', 'x']) expect(stored(`${start}${'🍵'.repeat(1000)}`).isWellFormed()).toBe(true);
  });
});
