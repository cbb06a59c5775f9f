import { Code, ConnectError } from '@connectrpc/connect';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Clock } from '@uswarm/service-kit';
import { ANSWERED, type Call, chunk, createScene, done, failure, NOW, thinking } from '../../../test/turn-scene.js';
import type { RuntimeRow } from '../runtimes/runtimes.store.js';
import type { TurnRow } from './turns.store.js';

describe('a turn', () => {
  let scene: ReturnType<typeof createScene>;
  const play = (script: Call[], more: Parameters<typeof createScene>[1] = {}) => (scene = createScene(script, more));

  it('is answered', async () => {
    play([{ events: [thinking, chunk('4'), chunk('2'), done()] }]);
    expect(await scene.run()).toEqual({ done: true });
    expect([scene.asked(), scene.reply()]).toEqual([[[1, 0]], { text: '42', status: 'delivered' }]);
  });

  it.each([
    ['ends', {}],
    ['breaks', failure(Code.Unavailable)],
  ])('whose stream %s goes on behind the events that were seen', async (_what, end) => {
    play([{ events: [thinking, chunk('4')], ...end }, { events: [chunk('2'), done()] }]);
    expect(await scene.run()).toEqual({ done: true });
    expect([scene.asked(), scene.reply()]).toEqual([
      [
        [1, 0],
        [1, 2],
      ],
      { text: '42', status: 'delivered' },
    ]);
  });

  it('that the runtime lost starts again, with nothing of what it said before', async () => {
    play([{ events: [chunk('never mind')] }, failure(Code.NotFound), ANSWERED]);
    expect(await scene.run()).toEqual({ done: true });
    expect(scene.asked()).toEqual([
      [1, 0],
      [1, 1],
      [2, 0],
    ]);
    expect(scene.reply()).toEqual({ text: '42', status: 'delivered' });
  });

  it('that the runtime lost twice fails', async () => {
    play([failure(Code.NotFound), failure(Code.NotFound)]);
    expect(await scene.run()).toEqual({ done: true });
    expect(scene.asked()).toEqual([
      [1, 0],
      [2, 0],
    ]);
    expect([scene.seen.ended, scene.reply()?.status]).toEqual([
      { status: 'failed', errorCode: 'runtime_lost' },
      'failed',
    ]);
  });

  it('that fails after some text keeps it', async () => {
    play([{ events: [chunk('half')], ...failure(Code.InvalidArgument) }]);
    await scene.run();
    expect(scene.reply()).toEqual({ text: 'half', status: 'incomplete' });
  });

  it('whose runtime started anew meanwhile starts again', async () => {
    play([ANSWERED], { turn: { runtime_instance: 'of before', status: 'running', reply_message_id: 'r' } });
    expect(await scene.run()).toEqual({ done: true });
    expect([scene.asked(), scene.reply()?.text]).toEqual([[[2, 0]], '42']);
  });

  it('whose runtime starts anew in the middle starts again', async () => {
    play([{ events: [chunk('never mind')], atTheEnd: () => scene.startAgain('another') }, ANSWERED]);
    expect(await scene.run()).toEqual({ done: true });
    expect([scene.asked(), scene.reply()?.text]).toEqual([
      [
        [1, 0],
        [2, 0],
      ],
      '42',
    ]);
  });

  it.each([Code.InvalidArgument, Code.OutOfRange, Code.Unauthenticated, Code.PermissionDenied, Code.Unimplemented])(
    'that the runtime refuses for good fails at once: code %d',
    async (code) => {
      play([failure(code)]);
      expect(await scene.run()).toEqual({ done: true });
      expect(scene.asked()).toEqual([[1, 0]]);
      expect(scene.seen.ended).toEqual({ status: 'failed', errorCode: 'runtime_refused' });
    },
  );

  it('of which the runtime has a later generation is left to who started that', async () => {
    play([failure(Code.FailedPrecondition)]);
    expect(await scene.run()).toEqual({ againInMs: expect.any(Number) });
    expect([scene.seen.ended, scene.reply()]).toEqual([undefined, {}]);
  });

  it('that ended in errors of ours five times is given up', async () => {
    play([]);
    expect(await scene.run({ failures: 5 })).toEqual({ done: true });
    expect(scene.seen.ended).toEqual({ status: 'failed', errorCode: 'internal_error' });
    expect([scene.asked(), scene.question()?.status, scene.reply()?.status]).toEqual([[], 'failed', 'failed']);
  });

  it('that ended in errors of ours four times is tried once more', async () => {
    play([ANSWERED]);
    expect(await scene.run({ failures: 4 })).toEqual({ done: true });
    expect(scene.reply()?.text).toBe('42');
  });

  it('has its runtime looked at once while it is interrupted without progress', async () => {
    play([failure(Code.Unavailable), failure(Code.Unavailable), failure(Code.Internal), ANSWERED]);
    await scene.run();
    expect([scene.seen.hurried, scene.asked().length]).toEqual([1, 4]);
  });

  it('has its runtime looked at again when it is interrupted after progress', async () => {
    play([failure(Code.Unavailable), { events: [chunk('a')] }, ANSWERED]);
    await scene.run();
    expect(scene.seen.hurried).toBe(2);
  });

  it('whose runtime cannot be reached for a minute fails', async () => {
    let now = NOW.getTime();
    const clock: Clock = { now: () => new Date((now += 61_000)) };
    play([failure(Code.Unavailable), failure(Code.Unavailable)], { clock });
    expect(await scene.run()).toEqual({ done: true });
    expect(scene.seen.ended).toEqual({ status: 'failed', errorCode: 'runtime_unreachable' });
  });

  it('that no runtime has begun waits longer than a minute while the pod is replaced, and is answered', async () => {
    let now = NOW.getTime();
    let refusals = 0;
    let reads = 0;
    const runtime = {
      // Ready until it refuses, then away for two minutes.
      get phase() {
        if (refusals === 0 || reads >= 2) return 'Ready' as const;
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
        if (refusals === 1) throw new ConnectError('shutting down', Code.Unavailable);
      },
    });
    expect(await scene.run()).toEqual({ done: true });
    expect([reads, scene.reply()]).toEqual([2, { text: '42', status: 'delivered' }]);
  });

  const minutesLater = (minutes: number): Clock => ({ now: () => new Date(NOW.getTime() + minutes * 60_000) });

  it('whose runtime is not ready waits for it', async () => {
    play([], { runtime: { phase: 'Progressing' }, clock: minutesLater(9) });
    expect(await scene.run()).toEqual({ againInMs: expect.any(Number) });
    expect([scene.seen.ended, scene.asked()]).toEqual([undefined, []]);
  });

  it('that no runtime became ready for in ten minutes fails', async () => {
    play([], { runtime: { phase: 'Progressing' }, clock: minutesLater(11) });
    expect(await scene.run()).toEqual({ done: true });
    expect(scene.seen.ended).toEqual({ status: 'failed', errorCode: 'runtime_not_ready' });
  });

  it('whose runtime was wanted only lately waits for it, however old the question is', async () => {
    const runtime = { phase: 'Progressing', wanted_at: new Date(NOW.getTime() + 5 * 60_000) } as const;
    play([], { runtime, clock: minutesLater(14) });
    expect(await scene.run()).toEqual({ againInMs: expect.any(Number) });
    expect(scene.seen.ended).toBeUndefined();
  });

  it.each<TurnRow['status']>(['queued', 'running'])('that is %s waits while its runtime is held', async (status) => {
    play([], { runtime: { phase: 'Suspended', address: null }, turn: { status }, clock: minutesLater(10_000) });
    expect(await scene.run()).toEqual({ againInMs: expect.any(Number) });
    expect([scene.seen.ended, scene.asked(), scene.reply()]).toEqual([undefined, [], undefined]);
  });

  it('that is interrupted because its runtime is held waits, and keeps nothing busy', async () => {
    const runtime: Partial<RuntimeRow> = {};
    const hold = (): void => void Object.assign(runtime, { phase: 'Suspended', address: null });
    play([{ events: [chunk('4')], atTheEnd: hold, ...failure(Code.Unavailable) }], { runtime });
    expect(await scene.run()).toEqual({ againInMs: expect.any(Number) });
    expect([scene.seen.ended, scene.asked()]).toEqual([undefined, [[1, 0]]]);
  });

  it.each<TurnRow['status']>(['done', 'failed', 'stopped'])('that is %s already is not touched', async (status) => {
    play([], { turn: { status } });
    expect([await scene.run(), scene.seen.ended, scene.asked()]).toEqual([{ done: true }, undefined, []]);
  });

  describe('whose process stops', () => {
    let stopping: AbortController;
    beforeEach(() => {
      stopping = new AbortController();
    });
    it('in the middle of an answer is given back at once', async () => {
      play([{ events: [chunk('4')], atTheEnd: () => stopping.abort(), ...failure(Code.Canceled) }]);
      expect([await scene.run({}, stopping.signal), scene.seen.ended]).toEqual([{ againInMs: 0 }, undefined]);
    });

    it('while it waits for the runtime is given back at once', async () => {
      play([{ atTheEnd: () => void setImmediate(() => stopping.abort()), ...failure(Code.Unavailable) }]);
      expect([await scene.run({}, stopping.signal), scene.seen.ended]).toEqual([{ againInMs: 0 }, undefined]);
      expect(scene.asked()).toHaveLength(1);
    });
  });
});
