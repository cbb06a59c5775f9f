import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { systemTimers } from './timers.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

describe('system timers', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('support delays longer than the maximum of setTimeout', () => {
    const task = jest.fn();
    systemTimers.after(60 * DAY_MS, task);
    jest.advanceTimersByTime(60 * DAY_MS - 1);
    expect(task).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(task).toHaveBeenCalledTimes(1);
  });

  it('can be cancelled at any time of a long delay', () => {
    const task = jest.fn();
    const cancel = systemTimers.after(60 * DAY_MS, task);
    jest.advanceTimersByTime(30 * DAY_MS);
    cancel();
    jest.advanceTimersByTime(60 * DAY_MS);
    expect(task).not.toHaveBeenCalled();
  });

  it('run overdue tasks immediately', () => {
    const task = jest.fn();
    systemTimers.after(-5, task);
    jest.advanceTimersByTime(0);
    expect(task).toHaveBeenCalledTimes(1);
  });
});
