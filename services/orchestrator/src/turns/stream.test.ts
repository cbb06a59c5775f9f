import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import type { Database } from '../platform/database/database.js';
import type { RuntimeClient } from '../runtimes/runtime-client.js';
import type { LoadedRequest } from './request/load-turn-request.js';
import { type FollowedTurn, openStream, renewPeriodically, type StreamDeps } from './stream.js';

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

describe('the stream of a turn', () => {
  const unused = (): never => {
    throw new Error('not used');
  };

  /** @returns opens a stream, and the signal of its tools */
  function prepared(runTurn: () => ReturnType<RuntimeClient['runTurn']>) {
    let tools: AbortSignal | undefined;
    const reply = {
      requests: { offer: ({ signal }: { signal: AbortSignal }) => (tools = signal) },
      saveText: unused,
      renewActivity: unused,
    };
    const deps = {
      database: {} as Database,
      turns: { getTurn: unused, isStopRequested: unused },
      client: { runTurn, stopTurn: unused, renewToolToken: unused, advance: unused },
      turnSignals: { watch: () => () => undefined },
      toolTokens: unused,
      modelTokens: unused,
      clock: { now: () => new Date() },
      logger: silentLogger,
    } satisfies StreamDeps;
    const { signal } = new AbortController();
    const followed = { turn: { id: 't' }, reply, to: {}, signal, deadlineAt: Date.now() + 60_000, stops: {} };
    const loaded = { request: { toolToken: 'token' }, context: { agentContext: {} }, requestedTools: [] };
    return {
      open: () => openStream(deps, followed as unknown as FollowedTurn, loaded as unknown as LoadedRequest),
      areToolsEnded: () => tools?.aborted,
    };
  }

  it('starts no timers if the runtime cannot be called', () => {
    const { open } = prepared(() => {
      throw new ConnectError('', Code.Internal);
    });
    expect(open).toThrow(ConnectError);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('ends its timers and tools, and does not fail, if the runtime fails while it closes', async () => {
    const events = {
      next: unused,
      return: () => Promise.reject(new ConnectError('', Code.Internal)),
      [Symbol.asyncIterator]: () => events,
    };
    const { open, areToolsEnded } = prepared(() => events);
    await expect(open().close()).resolves.toBeUndefined();
    expect({ timers: jest.getTimerCount(), areToolsEnded: areToolsEnded() }).toEqual({
      timers: 0,
      areToolsEnded: true,
    });
  });
});
