import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { renewPeriodically } from './stream.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Renews every second; `outcomes` are the runtime's responses, one per call. */
function start(outcomes: (Code | 'ok')[], allowed = true) {
  const errors: unknown[] = [];
  let calls = 0;
  const end = renewPeriodically({
    allowed: () => Promise.resolve(allowed),
    async renew() {
      const outcome = outcomes[calls] ?? 'ok';
      calls += 1;
      if (outcome !== 'ok') throw new ConnectError('', outcome);
    },
    everyMs: 1_000,
    onError: (error) => errors.push(error),
  });
  return { calls: () => calls, errors, end };
}

describe('a periodic renewal', () => {
  it('happens in each interval until it is ended', async () => {
    const { calls, end } = start([]);
    await jest.advanceTimersByTimeAsync(2_500);
    expect(calls()).toBe(2);
    end();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(calls()).toBe(2);
  });

  it('is retried in the next interval after a failure', async () => {
    const { calls, errors, end } = start([Code.Unavailable]);
    await jest.advanceTimersByTimeAsync(2_500);
    end();
    expect(calls()).toBe(2);
    expect(errors.length).toBe(1);
  });

  it('ends when the runtime does not implement the call', async () => {
    const { calls, errors, end } = start([Code.Unimplemented]);
    await jest.advanceTimersByTimeAsync(5_000);
    end();
    expect(calls()).toBe(1);
    expect(errors.length).toBe(1);
  });

  it('does not happen while it is not allowed', async () => {
    const { calls, end } = start([], false);
    await jest.advanceTimersByTimeAsync(5_000);
    end();
    expect(calls()).toBe(0);
  });
});
