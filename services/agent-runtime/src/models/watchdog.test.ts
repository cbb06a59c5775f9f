import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createWatchdog } from './watchdog.js';

const NEVER = new AbortController().signal;

describe('the watchdog of a model call', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('aborts after the timeout, counted from the last touch', () => {
    const { signal, touch } = createWatchdog(NEVER, 1_000);
    jest.advanceTimersByTime(900);
    touch();
    jest.advanceTimersByTime(900);
    expect(signal.aborted).toBe(false);
    jest.advanceTimersByTime(100);
    expect(signal.reason).toMatchObject({ code: 'model_timeout' });
  });

  it('aborts with the reason of the caller', () => {
    const caller = new AbortController();
    const { signal, stop } = createWatchdog(caller.signal, 1_000);
    caller.abort(new Error('stopped'));
    expect(signal.reason).toEqual(new Error('stopped'));
    stop();
  });

  it('does not abort after it is stopped', () => {
    const { signal, stop } = createWatchdog(NEVER, 1_000);
    stop();
    jest.advanceTimersByTime(10_000);
    expect(signal.aborted).toBe(false);
  });
});
