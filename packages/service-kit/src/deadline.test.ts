import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { startDeadline } from './deadline.js';

describe('startDeadline', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('aborts with a TimeoutError when the time is over', () => {
    const deadline = startDeadline(50);
    jest.advanceTimersByTime(49);
    expect([deadline.signal.aborted, deadline.expired()]).toEqual([false, false]);
    jest.advanceTimersByTime(1);
    expect([deadline.signal.aborted, deadline.expired()]).toEqual([true, true]);
    expect(deadline.signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('aborts with the reason of the cancelling signal, and has not expired', () => {
    const cancel = new AbortController();
    const deadline = startDeadline(50, cancel.signal);
    const reason = new Error('enough');
    cancel.abort(reason);
    expect(deadline.signal.reason).toBe(reason);
    expect(deadline.expired()).toBe(false);
  });

  it('is aborted from the start by a signal that is already aborted', () => {
    expect(startDeadline(50, AbortSignal.abort(new Error('enough'))).signal.aborted).toBe(true);
  });

  it('leaves neither a timer nor a listener after the end', () => {
    const { signal } = new AbortController();
    const deadlines = Array.from({ length: 3 }, () => startDeadline(50, signal));
    expect([jest.getTimerCount(), getEventListeners(signal, 'abort').length]).toEqual([3, 3]);
    for (const deadline of deadlines) deadline.end();
    expect([jest.getTimerCount(), getEventListeners(signal, 'abort').length]).toEqual([0, 0]);
    jest.advanceTimersByTime(50);
    expect(deadlines.map((deadline) => deadline.signal.aborted)).toEqual([false, false, false]);
  });
});
