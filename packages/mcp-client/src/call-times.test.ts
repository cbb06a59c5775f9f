import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createCallTimes } from './call-times.js';

describe('the times of a call', () => {
  const over = jest.fn();
  beforeEach(() => {
    jest.useFakeTimers();
    over.mockReset();
  });
  afterEach(() => void jest.useRealTimers());

  it('end it after a time without progress', () => {
    const times = createCallTimes({ idleMs: 100, totalMs: 1_000 }, over);
    jest.advanceTimersByTime(90);
    times.progress();
    jest.advanceTimersByTime(90);
    expect(over).not.toHaveBeenCalled();
    jest.advanceTimersByTime(10);
    expect(over).toHaveBeenCalledTimes(1);
    times.end();
  });

  it('end it after the total time in spite of progress', () => {
    const times = createCallTimes({ idleMs: 100, totalMs: 150 }, over);
    jest.advanceTimersByTime(90);
    times.progress();
    jest.advanceTimersByTime(60);
    expect(over).toHaveBeenCalledTimes(1);
    times.end();
  });

  it('stop while questions are open, and go on with what is left', async () => {
    const times = createCallTimes({ idleMs: 100, totalMs: 150 }, over);
    jest.advanceTimersByTime(90);
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const asked = [times.without(() => first.promise), times.without(() => second.promise)];
    jest.advanceTimersByTime(10_000);
    first.resolve();
    await asked[0];
    times.progress();
    jest.advanceTimersByTime(10_000);
    second.resolve();
    await asked[1];
    jest.advanceTimersByTime(59);
    expect(over).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(over).toHaveBeenCalledTimes(1);
    times.end();
  });

  it('do not begin again when the call has ended before the answer', async () => {
    const times = createCallTimes({ idleMs: 100, totalMs: 150 }, over);
    const question = Promise.withResolvers<void>();
    const asked = times.without(() => question.promise);
    times.end();
    question.resolve();
    await asked;
    jest.advanceTimersByTime(10_000);
    expect(over).not.toHaveBeenCalled();
  });
});
