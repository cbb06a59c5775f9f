import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createFinishedTurns } from './finished-turns.js';

describe('finished turns', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  function setUp() {
    const forgotten: string[] = [];
    const turns = createFinishedTurns<{ name: string; bytes: number }>({
      maxBytes: 100,
      keepMs: 5_000,
      onForget: ({ name }) => forgotten.push(name),
    });
    return { turns, forgotten };
  }

  it('are kept for the configured time', () => {
    const { turns, forgotten } = setUp();
    turns.keep({ name: 'a', bytes: 1 });
    jest.advanceTimersByTime(4_999);
    expect(forgotten).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(forgotten).toEqual(['a']);
  });

  it('are removed for newer ones, the oldest first', () => {
    const { turns, forgotten } = setUp();
    for (const name of ['a', 'b', 'c']) turns.keep({ name, bytes: 40 });
    expect(forgotten).toEqual(['a']);
  });

  it('include the newest one, whatever its size', () => {
    const { turns, forgotten } = setUp();
    turns.keep({ name: 'a', bytes: 1 });
    turns.keep({ name: 'b', bytes: 1_000 });
    expect(forgotten).toEqual(['a']);
  });

  it('are removed once', () => {
    const { turns, forgotten } = setUp();
    const turn = { name: 'a', bytes: 60 };
    turns.keep(turn);
    turns.forget(turn);
    turns.forget(turn);
    jest.advanceTimersByTime(10_000);
    turns.keep({ name: 'b', bytes: 100 });
    expect(forgotten).toEqual(['a']);
  });
});
