import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Collector, collectStartupGarbage } from './startup-garbage.js';

describe('the garbage of the start', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  function setUp() {
    const startedAt = Date.now();
    let busy = false;
    const gc = jest.fn<Collector>();
    const cancel = collectStartupGarbage({ quietMs: () => (busy ? 0 : Date.now() - startedAt), gc });
    return { gc, cancel, setBusy: (value: boolean) => void (busy = value) };
  }

  it('is collected once, with compiled code', () => {
    const { gc } = setUp();
    jest.advanceTimersByTime(999);
    expect(gc).not.toHaveBeenCalled();
    jest.advanceTimersByTime(60_000);
    expect(gc.mock.calls).toEqual([[{ type: 'major', flavor: 'last-resort', execution: 'sync' }]]);
  });

  it('is not collected before the first turn ends', () => {
    const { gc, setBusy } = setUp();
    setBusy(true);
    jest.advanceTimersByTime(60_000);
    expect(gc).not.toHaveBeenCalled();
    setBusy(false);
    jest.advanceTimersByTime(60_000);
    expect(gc).toHaveBeenCalledTimes(1);
  });

  it('is not collected after the cancellation', () => {
    const { gc, cancel } = setUp();
    cancel();
    jest.advanceTimersByTime(60_000);
    expect(gc).not.toHaveBeenCalled();
  });
});
