import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createWatchdog } from './watchdog.js';

const NEVER = new AbortController().signal;
const LIMITS = { firstByteMs: 2_000, betweenBytesMs: 1_000, totalMs: 5_000 };

describe('the watchdog of a model call', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('aborts if the first byte does not arrive in time', () => {
    const { signal } = createWatchdog(NEVER, LIMITS);
    jest.advanceTimersByTime(1_999);
    expect(signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(signal.reason).toMatchObject({ code: 'model_timeout' });
  });

  it('aborts after a pause between two bytes, counted from the last one', () => {
    const { signal, touch } = createWatchdog(NEVER, LIMITS);
    touch();
    jest.advanceTimersByTime(900);
    touch();
    jest.advanceTimersByTime(900);
    expect(signal.aborted).toBe(false);
    jest.advanceTimersByTime(100);
    expect(signal.reason).toMatchObject({ code: 'model_timeout' });
  });

  it('aborts a call that makes progress for too long', () => {
    const { signal, touch } = createWatchdog(NEVER, LIMITS);
    for (let second = 0; second < 10; second += 1) {
      touch();
      jest.advanceTimersByTime(500);
    }
    expect(signal.reason).toMatchObject({ code: 'model_timeout' });
  });

  it('aborts with the reason of the caller', () => {
    const caller = new AbortController();
    const { signal, stop } = createWatchdog(caller.signal, LIMITS);
    caller.abort(new Error('stopped'));
    expect(signal.reason).toEqual(new Error('stopped'));
    stop();
  });

  it('does not abort after it is stopped', () => {
    const { signal, stop } = createWatchdog(NEVER, LIMITS);
    stop();
    jest.advanceTimersByTime(10_000);
    expect(signal.aborted).toBe(false);
  });
});
