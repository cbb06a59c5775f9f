import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import {
  ANSWERED,
  type Call,
  chunk,
  createTurnHarness,
  done,
  entry,
  failure,
  thinking,
} from '../../test/turn-harness.js';
import { NOW } from '../../test/turn-rows.js';
import type { RuntimeRow } from '../records/runtimes.store.js';
import type { TurnRow } from './turns.store.js';

describe('the turn worker', () => {
  let harness: ReturnType<typeof createTurnHarness>;
  const play = (script: Call[], more: Parameters<typeof createTurnHarness>[1] = {}) =>
    (harness = createTurnHarness(script, more));

  it('completes a turn', async () => {
    play([{ events: [thinking, chunk('4'), chunk('2'), done()] }]);
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.calls()).toEqual([{ generation: 1, fromEvent: 0 }]);
    expect(harness.reply()).toEqual({ text: '42', status: 'delivered' });
  });

  it.each([
    ['ends', {}],
    ['fails', failure(Code.Unavailable)],
  ])('continues after the last received event when the stream %s', async (_what, end) => {
    play([{ events: [thinking, chunk('4')], ...end }, { events: [chunk('2'), done()] }]);
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.calls()).toEqual([
      { generation: 1, fromEvent: 0 },
      { generation: 1, fromEvent: 2 },
    ]);
    expect(harness.reply()).toEqual({ text: '42', status: 'delivered' });
  });

  it('restarts a turn that the runtime lost, without its earlier text', async () => {
    play([{ events: [chunk('never mind')] }, failure(Code.NotFound), ANSWERED]);
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.calls()).toEqual([
      { generation: 1, fromEvent: 0 },
      { generation: 1, fromEvent: 1 },
      { generation: 2, fromEvent: 0 },
    ]);
    expect(harness.reply()).toEqual({ text: '42', status: 'delivered' });
  });

  it('fails a turn that the runtime lost twice', async () => {
    play([failure(Code.NotFound), failure(Code.NotFound)]);
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.calls()).toEqual([
      { generation: 1, fromEvent: 0 },
      { generation: 2, fromEvent: 0 },
    ]);
    expect(harness.recorded.ended).toEqual({ status: 'failed', errorCode: 'runtime_lost' });
    expect(harness.reply()?.status).toBe('failed');
  });

  it('keeps the text of a turn that fails later', async () => {
    play([{ events: [chunk('half')], ...failure(Code.InvalidArgument) }]);
    await harness.run();
    expect(harness.reply()).toEqual({ text: 'half', status: 'incomplete' });
  });

  it('restarts a turn whose runtime was restarted before the attempt', async () => {
    play([ANSWERED], { turn: { runtime_instance: 'earlier', status: 'running', reply_message_id: 'r' } });
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.calls()).toEqual([{ generation: 2, fromEvent: 0 }]);
    expect(harness.reply()?.text).toBe('42');
  });

  it('restarts a turn whose runtime is restarted during the stream', async () => {
    play([{ events: [chunk('never mind')], atTheEnd: () => harness.restartRuntime('another') }, ANSWERED]);
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.calls()).toEqual([
      { generation: 1, fromEvent: 0 },
      { generation: 2, fromEvent: 0 },
    ]);
    expect(harness.reply()?.text).toBe('42');
  });

  it.each([Code.InvalidArgument, Code.OutOfRange, Code.Unauthenticated, Code.PermissionDenied, Code.Unimplemented])(
    'fails a turn immediately if the runtime refuses it with code %d',
    async (code) => {
      play([failure(code)]);
      expect(await harness.run()).toEqual({ done: true, isCompleted: true });
      expect(harness.calls()).toEqual([{ generation: 1, fromEvent: 0 }]);
      expect(harness.recorded.ended).toEqual({ status: 'failed', errorCode: 'runtime_refused' });
    },
  );

  it('leaves a turn to the other worker if the runtime has a later generation', async () => {
    play([failure(Code.FailedPrecondition)]);
    expect(await harness.run()).toEqual({ againInMs: expect.any(Number) });
    expect(harness.recorded.ended).toBeUndefined();
    expect(harness.reply()).toEqual({});
  });

  describe('in its span', () => {
    const spanErrors = async (script: Call[], more: Parameters<typeof play>[1] = {}, signal?: AbortSignal) => {
      play(script, more);
      await harness.run({}, signal);
      return harness.recorded.spanErrors;
    };
    const waiting = { case: 'waiting', value: { retryAfterMs: 1_000 } } as const;

    it('records no error of a turn that ends or is postponed', async () => {
      expect(await spanErrors([ANSWERED])).toEqual([]);
      expect(await spanErrors([{ events: [entry(1), waiting] }], { features: ['journal.1'] })).toEqual([]);
    });

    it('records that another worker has the turn', async () => {
      expect(await spanErrors([failure(Code.FailedPrecondition)])).toEqual(['lease_lost']);
    });

    it('records that the runtime is suspended', async () => {
      const runtime: Partial<RuntimeRow> = {};
      const suspend = (): void => void Object.assign(runtime, { phase: 'Suspended', address: null });
      expect(await spanErrors([{ atTheEnd: suspend }], { runtime })).toEqual(['runtime_suspended']);
    });

    it('records that the process stops', async () => {
      const stopping = new AbortController();
      const script = [{ atTheEnd: () => stopping.abort(), ...failure(Code.Canceled) }];
      expect(await spanErrors(script, {}, stopping.signal)).toEqual(['shut_down']);
    });
  });

  describe('whose stream does not close cleanly', () => {
    const onLeave = (): never => {
      throw new ConnectError('', Code.Internal);
    };

    it('still stops and fails a turn that exceeds a limit', async () => {
      play([{ events: [chunk('4'), done('x'.repeat(LIMITS.replyBytes + 1))] }], { onLeave });
      expect(await harness.run()).toEqual({ done: true, isCompleted: true });
      expect(harness.recorded.ended).toEqual({ status: 'failed', errorCode: 'reply_too_long' });
      expect(harness.recorded.stops).toHaveLength(1);
    });

    it('still leaves a turn to the worker that has its lease', async () => {
      let isHeld = true;
      const lose = (): void => void (isHeld = false);
      play([{ events: [chunk('4'), entry(1), done()], barriers: [1] }], {
        onLeave,
        onAdvance: lose,
        holds: () => isHeld,
      });
      expect(await harness.run()).toEqual({ againInMs: expect.any(Number) });
    });
  });

  it('completes a turn whose runtimes are lost with progress for more than a minute', async () => {
    let now = NOW.getTime();
    const atTheEnd = (): void => void (now += 61_000);
    const lost = failure(Code.NotFound);
    play(
      [
        { events: [thinking, chunk('a'), entry(1)], atTheEnd },
        lost,
        // Fewer events than before, because the journal is not repeated.
        { events: [entry(2)], atTheEnd },
        lost,
        { events: [entry(3)], atTheEnd },
        lost,
        ANSWERED,
      ],
      { clock: { now: () => new Date(now) } },
    );
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.ended).toEqual({ status: 'done', errorCode: null });
  });

  it('completes a turn that waits longer than a minute for a replaced pod', async () => {
    let now = NOW.getTime();
    let refusals = 0;
    let reads = 0;
    const runtime = {
      // The runtime is Ready until it rejects the calls before and after the turn begins, then unavailable for two
      // minutes.
      get phase() {
        if (refusals < 2 || reads >= 2) return 'Ready' as const;
        reads += 1;
        now += 60_000;
        return 'Progressing' as const;
      },
    };
    play([ANSWERED], {
      runtime,
      clock: { now: () => new Date(now) },
      onIdentify() {
        refusals += 1;
        if (refusals <= 2) throw new ConnectError('shutting down', Code.Unavailable);
      },
    });
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(reads).toBe(2);
    expect(harness.reply()).toEqual({ text: '42', status: 'delivered' });
  });

  const minutesLater = (minutes: number): Clock => ({ now: () => new Date(NOW.getTime() + minutes * 60_000) });

  it('waits for a runtime that is not ready', async () => {
    play([], { runtime: { phase: 'Progressing' }, clock: minutesLater(9) });
    expect(await harness.run()).toEqual({ againInMs: expect.any(Number) });
    expect(harness.recorded.ended).toBeUndefined();
    expect(harness.calls()).toEqual([]);
  });

  it('waits for a recently resumed runtime regardless of the age of the message', async () => {
    const runtime = { phase: 'Progressing', wanted_at: new Date(NOW.getTime() + 5 * 60_000) } as const;
    play([], { runtime, clock: minutesLater(14) });
    expect(await harness.run()).toEqual({ againInMs: expect.any(Number) });
    expect(harness.recorded.ended).toBeUndefined();
  });

  it.each<TurnRow['status']>(['queued', 'running'])(
    'keeps a %s turn waiting while an operator has suspended the runtime',
    async (status) => {
      play([], { runtime: { phase: 'Suspended', address: null }, turn: { status }, clock: minutesLater(10_000) });
      expect(await harness.run()).toEqual({ againInMs: expect.any(Number) });
      expect(harness.recorded.ended).toBeUndefined();
      expect(harness.calls()).toEqual([]);
      expect(harness.reply()).toBeUndefined();
    },
  );

  it('keeps a turn waiting without a time limit while the start of its runtime is queued', async () => {
    play([], { runtime: { phase: 'Progressing', reason: 'Queued' }, clock: minutesLater(10_000) });
    expect(await harness.run()).toEqual({ againInMs: expect.any(Number) });
    expect(harness.recorded.ended).toBeUndefined();
  });

  it('releases an interrupted turn while the runtime is suspended', async () => {
    const runtime: Partial<RuntimeRow> = {};
    const suspend = (): void => void Object.assign(runtime, { phase: 'Suspended', address: null });
    play([{ events: [chunk('4')], atTheEnd: suspend, ...failure(Code.Unavailable) }], { runtime });
    expect(await harness.run()).toEqual({ againInMs: expect.any(Number) });
    expect(harness.recorded.ended).toBeUndefined();
    expect(harness.calls()).toEqual([{ generation: 1, fromEvent: 0 }]);
  });

  describe('when the process stops', () => {
    let stopping: AbortController;
    beforeEach(() => {
      stopping = new AbortController();
    });
    afterEach(() => void jest.useRealTimers());

    it('releases a streaming turn immediately', async () => {
      play([{ events: [chunk('4')], atTheEnd: () => stopping.abort(), ...failure(Code.Canceled) }]);
      expect(await harness.run({}, stopping.signal)).toEqual({ againInMs: 0 });
      expect(harness.recorded.ended).toBeUndefined();
    });

    it('saves nothing more of a turn that it releases', async () => {
      jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
      play([{ events: [chunk('4')], atTheEnd: () => stopping.abort(), ...failure(Code.Canceled) }]);
      await harness.run({}, stopping.signal);
      // Short waits for further writes.
      jest.advanceTimersByTime(100);
      expect(jest.getTimerCount()).toBe(0);
    });

    it('releases a turn that waits for the runtime immediately', async () => {
      play([{ atTheEnd: () => void setImmediate(() => stopping.abort()), ...failure(Code.Unavailable) }]);
      expect(await harness.run({}, stopping.signal)).toEqual({ againInMs: 0 });
      expect(harness.recorded.ended).toBeUndefined();
      expect(harness.calls()).toHaveLength(1);
    });
  });

  it('costs at most 50 statements per second for 1,000 turns that wait for their runtimes', async () => {
    play([], { runtime: { phase: 'Pending' } });
    const result = await harness.run();
    const againInMs = 'againInMs' in result ? result.againInMs : 0;
    // The release, and one turn's share of a claim for 32 turns, which takes four statements.
    const statements = harness.recorded.reads + 1 + 4 / 32;
    expect((1_000 * statements) / (againInMs / 1_000)).toBeLessThanOrEqual(50);
  });
});
