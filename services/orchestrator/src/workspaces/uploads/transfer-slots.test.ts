import { describe, expect, it } from '@jest/globals';
import type { ApiError } from '@uswarm/contract';
import { createTransferSlots } from './transfer-slots.js';

const FAST = 1024 ** 2;

/** Runs uploads with a constant rate. The test sets the clock. */
function startSlots(maxConcurrent: number) {
  let now = 0;
  const slots = createTransferSlots({ maxConcurrent, maxConcurrentPerOwner: 2 }, () => now);
  const ended: string[] = [];
  const take = (userId: string, bytesPerS: number, name = userId): (() => void) => {
    const startedAt = now;
    return slots.take(userId, {
      received: () => ((now - startedAt) / 1_000) * bytesPerS,
      abort: ({ code }) => void ended.push(`${name}: ${code}`),
    });
  };
  const refused = (userId: string): string | undefined => {
    try {
      take(userId, FAST);
      return undefined;
    } catch (error) {
      return (error as ApiError).code;
    }
  };
  const pass = (ms: number): void => {
    now += ms;
  };
  return { take, refused, ended, pass };
}

describe('the slots of uploads', () => {
  it('are two per user', () => {
    const { take, refused } = startSlots(10);
    const release = take('a', FAST);
    take('a', FAST);
    expect(refused('a')).toBe('rate_limited');
    release();
    expect(refused('a')).toBeUndefined();
  });

  it('are all taken for ten seconds, in which an upload has no rate', () => {
    const { take, refused, pass } = startSlots(2);
    take('a', 1);
    take('a', 1);
    pass(9_999);
    expect(refused('b')).toBe('rate_limited');
    pass(1);
    expect(refused('b')).toBeUndefined();
  });

  it('pass from the slowest upload to a user without one', () => {
    const { take, refused, ended, pass } = startSlots(3);
    take('a', 20_000);
    take('b', 10_000);
    take('c', 15_000);
    pass(10_000);
    expect({ refused: refused('d'), ended }).toEqual({ refused: undefined, ended: ['b: upload_stalled'] });
  });

  it('do not pass to a user who has one', () => {
    const { take, refused, ended, pass } = startSlots(2);
    take('a', 1);
    take('b', FAST);
    pass(10_000);
    expect({ refused: refused('b'), ended }).toEqual({ refused: 'rate_limited', ended: [] });
  });

  it('do not pass from fast uploads whose users have one each', () => {
    const { take, refused, ended, pass } = startSlots(2);
    take('a', FAST);
    take('b', FAST);
    pass(60_000);
    expect({ refused: refused('c'), ended }).toEqual({ refused: 'rate_limited', ended: [] });
  });

  it('pass from a user with two uploads, however fast they are', () => {
    const { take, refused, ended, pass } = startSlots(2);
    take('a', FAST, 'first');
    take('a', 2 * FAST, 'second');
    pass(10_000);
    expect({ refused: refused('b'), ended }).toEqual({ refused: undefined, ended: ['first: upload_stalled'] });
  });

  it('are released once, also after they passed to another user', () => {
    const { take, refused, pass } = startSlots(1);
    const release = take('a', 1);
    pass(10_000);
    take('b', FAST);
    release();
    expect(refused('c')).toBe('rate_limited');
  });
});
