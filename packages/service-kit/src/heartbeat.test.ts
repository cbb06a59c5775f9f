import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Heartbeat, startHeartbeat } from './heartbeat.js';

const INTERVAL_MS = 1_000;
const DEADLINE_MS = 3_000;

describe('a heartbeat', () => {
  const replace = jest.fn();
  let heartbeat: Heartbeat;
  let connected: boolean;
  let answer: () => Promise<unknown>;
  let pings: number;
  beforeEach(() => {
    jest.useFakeTimers();
    replace.mockClear();
    connected = true;
    pings = 0;
    answer = async () => 'PONG';
    heartbeat = startHeartbeat({
      connected: () => connected,
      ping: () => {
        pings += 1;
        return answer();
      },
      replace,
      intervalMs: INTERVAL_MS,
      deadlineMs: DEADLINE_MS,
    });
  });
  afterEach(() => {
    heartbeat.stop();
    jest.useRealTimers();
  });
  const silent = (): Promise<unknown> => new Promise(() => undefined);

  it('keeps a connection whose server responds', async () => {
    await jest.advanceTimersByTimeAsync(20 * INTERVAL_MS);
    expect(replace).not.toHaveBeenCalled();
    expect(pings).toBe(20);
  });

  it('replaces a connection whose server does not respond within the deadline', async () => {
    answer = silent;
    await jest.advanceTimersByTimeAsync(INTERVAL_MS + DEADLINE_MS - 1);
    expect(replace).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(replace).toHaveBeenCalledTimes(1);
  });

  it('sends one ping at a time', async () => {
    answer = silent;
    await jest.advanceTimersByTimeAsync(DEADLINE_MS);
    expect(pings).toBe(1);
  });

  it('restarts the deadline with the new connection', async () => {
    answer = silent;
    await jest.advanceTimersByTimeAsync(INTERVAL_MS + DEADLINE_MS);
    answer = async () => 'PONG';
    await jest.advanceTimersByTimeAsync(20 * INTERVAL_MS);
    expect(replace).toHaveBeenCalledTimes(1);
  });

  it('neither pings nor replaces the connection while the client reconnects', async () => {
    connected = false;
    await jest.advanceTimersByTimeAsync(20 * INTERVAL_MS);
    expect(pings).toBe(0);
    expect(replace).not.toHaveBeenCalled();
  });

  it('does not count a failed ping as an unresponsive server', async () => {
    answer = () => Promise.reject(new Error('the connection was closed'));
    await jest.advanceTimersByTimeAsync(20 * INTERVAL_MS);
    expect(replace).not.toHaveBeenCalled();
  });
});
