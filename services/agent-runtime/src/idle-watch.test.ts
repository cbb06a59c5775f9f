import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { watchIdle } from './idle-watch.js';

describe('the idle watch', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  function setUp() {
    let last = Date.now();
    let busy = false;
    const onIdle = jest.fn();
    const stop = watchIdle({ limitMs: 1_000, quietMs: () => (busy ? 0 : Date.now() - last), onIdle });
    return { onIdle, stop, touch: () => void (last = Date.now()), setBusy: (value: boolean) => void (busy = value) };
  }

  it('fires once after the idle limit', () => {
    const { onIdle } = setUp();
    jest.advanceTimersByTime(999);
    expect(onIdle).not.toHaveBeenCalled();
    jest.advanceTimersByTime(10_000);
    expect(onIdle).toHaveBeenCalledTimes(1);
  });

  it('counts from the last activity', () => {
    const { onIdle, touch } = setUp();
    jest.advanceTimersByTime(900);
    touch();
    jest.advanceTimersByTime(999);
    expect(onIdle).not.toHaveBeenCalled();
    jest.advanceTimersByTime(10);
    expect(onIdle).toHaveBeenCalledTimes(1);
  });

  it('waits while a turn runs', () => {
    const { onIdle, setBusy } = setUp();
    setBusy(true);
    jest.advanceTimersByTime(60_000);
    expect(onIdle).not.toHaveBeenCalled();
  });

  it('does not fire after it is stopped', () => {
    const { onIdle, stop } = setUp();
    stop();
    jest.advanceTimersByTime(60_000);
    expect(onIdle).not.toHaveBeenCalled();
  });
});
