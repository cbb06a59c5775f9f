import { beforeEach, describe, expect, it } from '@jest/globals';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { AgentActivity, Outcome, type RunTurnRequest, type TurnEvent, TurnEventSchema } from '@uswarm/runtime-proto';
import { type Clock, silentLogger, systemClock } from '@uswarm/service-kit';
import type { Database } from '../../database/database.js';
import type { LeasedWork } from '../../work/work.store.js';
import type { RuntimeRow } from '../runtimes/runtimes.store.js';
import { createTurnRunner, type TurnRunnerDeps } from './turn-runner.js';
import type { TurnRow } from './turns.store.js';

const NOW = new Date();
const WORK: LeasedWork = {
  kind: 'turn',
  subjectId: 't',
  workspaceId: 'w',
  leaseId: 'l',
  attempts: 1,
  failures: 0,
  takenOver: false,
};
const RUNTIME: RuntimeRow = {
  workspace_id: 'w',
  user_id: 'u',
  desired: 'running',
  phase: 'Ready',
  reason: '',
  verified: true,
  address: 'http://127.0.0.1:1',
  instance_id: 'i',
  identified_at: NOW,
  failures: 0,
  wanted_at: NOW,
  updated_at: NOW,
};
/** The transaction of stores that store nothing. */
const NO_DATABASE = {} as Database;

type EventInit = NonNullable<MessageInitShape<typeof TurnEventSchema>['event']>;
/** What one call of the runtime gives: its events, and then an end without `done`, or an error. */
interface Call {
  events?: EventInit[];
  error?: ConnectError;
  /** Happens once the events are given. */
  atTheEnd?: () => void;
}

const failure = (code: Code): Call => ({ error: new ConnectError('', code) });
const chunk = (text: string): EventInit => ({ case: 'chunk', value: { text } });
const thinking: EventInit = { case: 'activity', value: { activity: AgentActivity.THINKING } };
const done = (text = ''): EventInit => ({ case: 'done', value: { outcome: Outcome.COMPLETED, text } });
const ANSWERED: Call = { events: [done('42')] };

/** A turn in memory, and a runtime that does what the script says, call by call. */
function createScene(script: Call[], more: { turn?: Partial<TurnRow>; runtime?: Partial<RuntimeRow>; clock?: Clock }) {
  const turn: TurnRow = {
    id: 't',
    workspace_id: 'w',
    conversation_id: 'c',
    agent_id: 'a',
    user_message_id: 'question',
    reply_message_id: null,
    status: 'queued',
    generation: 1,
    runtime_instance: null,
    created_at: NOW,
    user_id: 'u',
    ...more.turn,
  };
  const requests: RunTurnRequest[] = [];
  const seen = { requests, hurried: 0, ended: undefined as { status: string; errorCode: string | null } | undefined };
  const messages = new Map<string, { text?: string; status?: string }>();
  let seq = 0;
  let instance = 'i';

  async function* runTurn(request: RunTurnRequest): AsyncGenerator<TurnEvent> {
    requests.push(request);
    const call = script[requests.length - 1];
    if (call === undefined) throw new Error('the script is over');
    let number = request.fromEvent;
    for (const event of call.events ?? []) yield create(TurnEventSchema, { number: (number += 1n), event });
    call.atTheEnd?.();
    if (call.error !== undefined) throw call.error;
  }

  const deps: TurnRunnerDeps = {
    transaction: (run) => run(NO_DATABASE),
    work: { holds: async () => true, complete: async () => undefined },
    turns: {
      insert: async () => undefined,
      countActive: async () => 0,
      get: async () => ({ ...turn }),
      start: async (_id, replyId) => void Object.assign(turn, { status: 'running', reply_message_id: replyId }),
      setInstance: async (_id, instanceId) => void (turn.runtime_instance = instanceId),
      nextGeneration: async (_id, limit) => (turn.generation < limit ? (turn.generation += 1) : undefined),
      isBusyElsewhere: async () => false,
      finish: async (_id, status, errorCode) => void (seen.ended = { status, errorCode }),
      history: async () => [{ id: 'question', role: 'user', agent_id: null, text: 'why?' }],
      runningTools: async () => [],
      recordUsage: async () => undefined,
      nextStep: async () => 1,
    },
    agents: {
      members: async () => [{ id: 'a', slug: 'a', name: 'A', kind: 'manager', description: '', skills: [] }],
      setActivity: async () => undefined,
    },
    messages: {
      insert: async ({ id }) => void messages.set(id, {}),
      update: async (id, { content, status }) => {
        const text = content?.type === 'text' ? { text: content.text } : {};
        messages.set(id, { ...messages.get(id), ...text, ...(status === undefined ? {} : { status }) });
      },
      find: async () => [],
      findOfTurn: async () => undefined,
    },
    events: { append: async () => (seq += 1) },
    runtimes: { get: async () => ({ ...RUNTIME, ...more.runtime }) },
    client: {
      identify: async () => ({ instanceId: instance }),
      runTurn: (_to, request) => runTurn(request),
      status: async () => ({ busy: false, idleMs: 0 }),
      forget: () => undefined,
      close: () => undefined,
    },
    publish: async () => true,
    hurryRuntime: async () => void (seen.hurried += 1),
    committed: () => undefined,
    clock: more.clock ?? systemClock,
    logger: silentLogger,
  };
  return {
    seen,
    reply: () => messages.get(turn.reply_message_id ?? ''),
    question: () => messages.get('question'),
    asked: () => requests.map(({ generation, fromEvent }) => [generation, Number(fromEvent)]),
    startAgain: (name: string) => void (instance = name),
    run: (work: Partial<LeasedWork> = {}, signal: AbortSignal = new AbortController().signal) =>
      createTurnRunner(deps)({ ...WORK, ...work }, signal),
  };
}

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
      expect(scene.seen.ended).toEqual({ status: 'failed', errorCode: 'internal_error' });
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
