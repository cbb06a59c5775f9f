import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type TurnEvent, TurnEventSchema } from '@uswarm/runtime-proto';
import { silentLogger } from '@uswarm/service-kit';
import { QUEUED } from '../../test/turn-rows.js';
import type { Database } from '../platform/database/database.js';
import type { LoadedRequest } from './request/load-turn-request.js';
import {
  failureOfRuntime,
  type FollowedTurn,
  openStream,
  pollForCancellation,
  renewPeriodically,
  type StreamDeps,
} from './stream.js';
import type { TurnRow } from './turns.store.js';

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

it.each<[string, Code[]]>([
  ['lease lost', [Code.FailedPrecondition]],
  ['lost', [Code.NotFound]],
  ['refused', [Code.InvalidArgument, Code.OutOfRange, Code.Unauthenticated, Code.PermissionDenied, Code.Unimplemented]],
  ['interrupted', [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Internal, Code.ResourceExhausted]],
])('an error of a runtime means that a turn is %s, by its code', (failure, codes) => {
  expect(codes.map(failureOfRuntime)).toEqual(codes.map(() => failure));
});

describe('the stream of a turn', () => {
  const unused = (): never => {
    throw new Error('not used');
  };
  const silent = (
    close: () => Promise<IteratorResult<TurnEvent>> = async () => ({ done: true, value: undefined }),
  ) => ({
    [Symbol.asyncIterator]: () => ({ next: unused, return: close }),
  });

  /** @returns opens a stream, the signal of its tools, and what the runtime and the reply are told, in order */
  function prepared({
    runTurn = (): AsyncIterable<TurnEvent> => silent(),
    turn = QUEUED as TurnRow | undefined,
    request = { toolToken: 'token', modelToken: '' },
    outcomes = [] as readonly object[],
  } = {}) {
    let tools: AbortSignal | undefined;
    const told: unknown[] = [];
    const reply = {
      generation: 1,
      events: 0,
      apply: async ({ number }: TurnEvent) => ((reply.events = Number(number)), false),
      flush: async () => void told.push('stored'),
      requests: {
        resolutions: outcomes,
        offer: ({ signal }: { signal: AbortSignal }) => (tools = signal),
        acknowledged: () => void told.push('acknowledged'),
      },
      saveText: unused,
      renewActivity: unused,
    };
    const deps = {
      database: {} as Database,
      turns: { getTurn: async () => turn, isStopRequested: unused },
      client: {
        runTurn,
        stopTurn: unused,
        renewToolToken: async (_to, { toolToken, modelToken }) => void told.push([toolToken, modelToken]),
        advance: async ({ committedThrough, resolutions }) => void told.push([committedThrough, resolutions]),
      },
      turnSignals: { watch: () => () => undefined },
      toolTokens: async () => 'new tool token',
      modelTokens: async () => 'new model token',
      renewToolTokenMs: 1_000,
      clock: { now: () => new Date() },
      logger: silentLogger,
    } satisfies StreamDeps;
    const { signal } = new AbortController();
    const followed = { turn: { id: 't' }, reply, to: {}, signal, deadlineAt: Date.now() + 60_000, stops: {} };
    const loaded = { request, context: { agentContext: {} }, requestedTools: [] };
    return {
      open: () => openStream(deps, followed as unknown as FollowedTurn, loaded as unknown as LoadedRequest),
      areToolsEnded: () => tools?.aborted,
      told,
    };
  }

  it('starts no timers if the runtime cannot be called', () => {
    const { open } = prepared({
      runTurn() {
        throw new ConnectError('', Code.Internal);
      },
    });
    expect(open).toThrow(ConnectError);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('ends its timers and tools, and does not fail, if the runtime fails while it closes', async () => {
    const { open, areToolsEnded } = prepared({
      runTurn: () => silent(() => Promise.reject(new ConnectError('', Code.Internal))),
    });
    await expect(open().close()).resolves.toBeUndefined();
    expect({ timers: jest.getTimerCount(), areToolsEnded: areToolsEnded() }).toEqual({
      timers: 0,
      areToolsEnded: true,
    });
  });

  it.each<[string, boolean, object[], number | undefined]>([
    ['nothing else', false, [], undefined],
    ['a commit at a barrier', true, [], 1],
    ['the outcomes of its calls', false, [{ callId: 'c' }], 1],
  ])('reports that the runtime waits for %s', async (_what, barrier, outcomes, waitsFor) => {
    async function* runTurn() {
      yield create(TurnEventSchema, { number: 1n, barrier, event: { case: 'chunk', value: { text: 'x' } } });
    }
    const stream = prepared({ runTurn, outcomes }).open();
    expect(await stream.next()).toMatchObject({ type: 'applied', events: 1, waitsFor });
    expect(await stream.next()).toMatchObject({ type: 'interrupted', events: 1 });
    await stream.close();
  });

  it('invariant 4: acknowledges an event, with the outcomes of calls, after everything before it is stored', async () => {
    const outcomes = [{ callId: 'c' }];
    const { open, told } = prepared({ outcomes });
    const stream = open();
    await stream.advance(2);
    await stream.close();
    expect(told).toEqual(['stored', [2n, outcomes], 'acknowledged']);
  });

  const RUNNING: TurnRow = { ...QUEUED, status: 'running' };

  it.each([
    ['tools', { toolToken: 'token', modelToken: '' }, 2],
    ['a model gateway', { toolToken: '', modelToken: 'token' }, 2],
    ['neither', { toolToken: '', modelToken: '' }, 0],
  ])('renews the tokens of a turn with %s while it runs', async (_what, request, renewals) => {
    const { open, told } = prepared({ turn: RUNNING, request });
    const stream = open();
    await jest.advanceTimersByTimeAsync(2_500);
    await stream.close();
    expect(told).toEqual(Array.from({ length: renewals }, () => ['new tool token', 'new model token']));
  });

  it.each<[string, TurnRow | undefined]>([
    ['of a user who was banned', { ...RUNNING, user_banned: true }],
    ['that is to be stopped', { ...RUNNING, stop_requested: true }],
    ['that ended', { ...RUNNING, status: 'stopped' }],
    ['that was deleted with its workspace', undefined],
  ])('does not renew the tokens of a turn %s', async (_which, turn) => {
    const { open, told } = prepared({ turn });
    const stream = open();
    await jest.advanceTimersByTimeAsync(2_500);
    await stream.close();
    expect(told).toEqual([]);
  });
});

describe('the cancellation poller', () => {
  it('polls until the stop succeeds, also after errors', async () => {
    const answers = [false, new Error('unavailable'), true, true, true];
    const errors: unknown[] = [];
    let stops = 0;
    jest.useRealTimers();
    await new Promise<void>((resolve) => {
      const { end } = pollForCancellation({
        requested: async () => {
          const answer = answers.shift() ?? false;
          if (answer instanceof Error) throw answer;
          return answer;
        },
        stop: async () => {
          stops += 1;
          if (stops === 1) throw new Error('refused');
          end();
          resolve();
        },
        everyMs: 1,
        onError: (error) => errors.push(error),
      });
    });
    expect(stops).toBe(2);
    expect(errors.length).toBe(2);
  });

  it('waits while other statements read that no stop was requested, and polls when one was', async () => {
    let polls = 0;
    let stops = 0;
    const poller = pollForCancellation({
      requested: async () => (polls += 1) > 0,
      stop: async () => void (stops += 1),
      everyMs: 1_000,
      onError: () => undefined,
    });
    for (let n = 0; n < 5; n += 1) {
      await jest.advanceTimersByTimeAsync(900);
      poller.known(false);
    }
    expect(polls).toBe(0);
    poller.known(true);
    await jest.advanceTimersByTimeAsync(0);
    expect({ polls, stops }).toEqual({ polls: 1, stops: 1 });
    poller.known(true);
    poller.known(false);
    await jest.advanceTimersByTimeAsync(5_000);
    expect({ polls, timers: jest.getTimerCount() }).toEqual({ polls: 1, timers: 0 });
  });

  it('sends a stop again after a second if the runtime did not receive it', async () => {
    let stops = 0;
    const poller = pollForCancellation({
      requested: async () => true,
      stop: async () => {
        stops += 1;
        if (stops < 3) throw new Error('unavailable');
      },
      everyMs: 15_000,
      onError: () => undefined,
    });
    poller.check();
    await jest.advanceTimersByTimeAsync(2_000);
    expect({ stops, timers: jest.getTimerCount() }).toEqual({ stops: 3, timers: 0 });
  });
});
