import { Code } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import { EntryKind } from '@uswarm/runtime-proto';
import { Registry, systemClock } from '@uswarm/service-kit';
import { createMemoryBodies } from '../../test/memory-bodies.js';
import { createMessageClient } from '../../test/message-client.js';
import {
  ANSWERED,
  type Call,
  chunk,
  createScriptedRuntime,
  done,
  entry,
  failure,
  type ScriptedRuntimeOptions,
  stopped,
  thinking,
  tool,
  used,
} from '../../test/runtime-script.js';
import { createStores } from '../../test/stores.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { createWorkerDeps } from '../../test/worker-deps.js';
import type { LeasedJob } from '../platform/jobs/job-queue.js';
import type { RuntimeRow } from '../records/runtimes.store.js';
import { setBanned } from '../records/users.store.js';
import { MAX_ROW_BYTES } from './journal/journal.store.js';
import { createTurnMetrics } from './turn-metrics.js';
import { isStopRequested } from './turns.store.js';
import { createTurnWorker, type TurnWorkerDeps } from './worker.js';

const COMPLETED = { done: true, isCompleted: true };
const LIMIT = { scope: 'user', token_limit: 10, resets_at: '2026-12-01T00:00:00.000Z' } as const;
const MINUTE_MS = 60_000;

const world = useTurnFixture();
const client = createMessageClient(world);

/** A question to an agent whose runtime follows the script. Call `run` for each lease. */
async function ask(script: readonly Call[], options: ScriptedRuntimeOptions & { runtime?: Partial<RuntimeRow> } = {}) {
  const { id } = await client.say('why?');
  const job = await world.turnWorker.claim();
  const { runtime = {} } = options;
  const scripted = createScriptedRuntime(script, options);
  const spanErrors: unknown[] = [];
  const inSpan = (_name: string, _options: object, run: (span: never) => unknown) =>
    run({
      setStatus: () => undefined,
      setAttribute: (_key: string, value: unknown) => spanErrors.push(value),
    } as never);
  const turn = () => world.turnWorker.turnOf(job);
  return {
    ...scripted,
    job,
    runtime,
    spanErrors,
    turn,
    run: (deps: Partial<TurnWorkerDeps> = {}, signal = new AbortController().signal, lease: Partial<LeasedJob> = {}) =>
      createTurnWorker({
        ...createWorkerDeps(world.turnWorker.stores, () => runtime),
        client: scripted.client,
        inSpan: inSpan as NonNullable<TurnWorkerDeps['inSpan']>,
        ...deps,
      })({ ...job, ...lease }, signal),
    stop: () => world.user.post(`${client.pathOf(id)}/stop`, undefined, 204),
    /** How the turn, its message and its reply ended, and the notes. */
    async shown() {
      const messages = await client.listed();
      const reply = messages.findLast(({ role, content }) => role === 'agent' && content.type === 'text');
      return {
        turn: (await turn()).status,
        message: messages[0]?.extended_status,
        reply: reply?.extended_status,
        text: reply?.content.type === 'text' ? reply.content.text : undefined,
        error: reply?.error?.code,
        lines: messages.flatMap(({ content }) => (content.type === 'tool_status' ? [content.tool] : [])),
        notes: messages.flatMap(({ content }) => (content.type === 'system' ? [content.text] : [])),
      };
    },
  };
}

describe('the worker of a turn', () => {
  it('continues after the last event when the stream ends or fails, with everything before it stored', async () => {
    let stored: unknown;
    const { run, job, positions, shown, spanErrors } = await ask([
      { events: [thinking, tool, chunk('4'), entry(1)] },
      {
        async atTheEnd() {
          const entries = world.uswarm.database.selectFrom('turn_entries').select('number');
          stored = await entries.where('turn_id', '=', job.subjectId).execute();
        },
        ...failure(Code.Unavailable),
      },
      { events: [chunk('2'), done()] },
    ]);
    expect(await run()).toEqual(COMPLETED);
    expect(positions()).toEqual([
      [1, 0],
      [1, 4],
      [1, 4],
    ]);
    expect(stored).toEqual([{ number: 1 }]);
    expect(await shown()).toMatchObject({ turn: 'done', reply: 'delivered', text: '42', lines: ['search'] });
    expect(spanErrors).toEqual([]);
  });

  it('starts a turn again that its runtime lost, with its journal and context, and without its earlier text', async () => {
    const body = JSON.stringify('x'.repeat(MAX_ROW_BYTES));
    const { run, told, positions, shown } = await ask([
      {
        events: [entry(1), entry(2, EntryKind.STEP, body), chunk('never mind')],
        atTheEnd: () => void (told.instanceId = 'another'),
      },
      { events: [chunk('never mind either')] },
      failure(Code.NotFound),
      ANSWERED,
    ]);
    let uses = 0;
    // The object store answers each second request.
    const bodies = createMemoryBodies(() => {
      if ((uses += 1) % 2 === 1) throw new Error('no answer');
    });
    expect(await run({ bodies })).toEqual(COMPLETED);
    expect(positions()).toEqual([
      [1, 0],
      [2, 0],
      [2, 1],
      [3, 0],
    ]);
    const [first, , , last] = told.requests;
    expect(last).toMatchObject({ context: first?.context, journal: [{ body: '{}' }, { body }] });
    expect(await shown()).toMatchObject({ turn: 'done', reply: 'delivered', text: '42' });
  });

  const LARGE = entry(1, EntryKind.STEP, 'x'.repeat(MAX_ROW_BYTES + 1));

  it.each<[string, Call[], object, { stops: number; storedBodies?: number }]>([
    [
      'loses it twice',
      [failure(Code.NotFound), failure(Code.NotFound)],
      { reply: 'failed', error: 'runtime_lost' },
      { stops: 0 },
    ],
    [
      'refuses it',
      [{ events: [chunk('half')], ...failure(Code.InvalidArgument) }],
      { reply: 'incomplete', text: 'half', error: 'runtime_refused' },
      { stops: 0 },
    ],
    [
      'writes too much',
      [{ events: [chunk('half'), done('x'.repeat(LIMITS.replyBytes + 1))] }],
      { reply: 'incomplete', text: 'half', error: 'reply_too_long' },
      { stops: 1 },
    ],
    [
      'writes an entry that cannot be stored',
      [{ events: [chunk('half'), LARGE] }],
      { reply: 'incomplete', text: 'half', error: 'storage_unavailable' },
      { stops: 1 },
    ],
    [
      'is lost, and its journal cannot be read',
      [{ events: [LARGE] }, failure(Code.NotFound)],
      { reply: 'failed', error: 'storage_unavailable' },
      { stops: 0, storedBodies: 1 },
    ],
  ])(
    'fails a turn, and keeps its text, if its runtime %s',
    async (what, script, expected, { stops, storedBodies = 0 }) => {
      const { run, told, shown } = await ask(script);
      const registry = new Registry();
      const metrics = createTurnMetrics(registry, { tools: [], clock: systemClock });
      let uses = 0;
      const bodies = createMemoryBodies(() => {
        if ((uses += 1) > storedBodies) throw new Error('no answer');
      });
      expect(await run({ bodies, metrics })).toEqual(COMPLETED);
      expect(await shown()).toMatchObject({ turn: 'failed', ...expected });
      expect([told.stops.length, told.requests.length]).toEqual([stops, script.length]);
      const refused = `uswarm_runtime_output_refused_total{reason="text_too_long"} ${what === 'writes too much' ? 1 : 0}`;
      expect(await registry.metrics()).toContain(refused);
    },
  );

  it('leaves a turn to another worker, a later process or a resumed runtime, and its span states which', async () => {
    const { run, runtime, spanErrors, shown, positions } = await ask([
      failure(Code.FailedPrecondition),
      {
        events: [entry(1), chunk('Well, '), chunk('it '), chunk('is ')],
        barriers: [1],
        atTheEnd: () => stopping.abort(),
        ...failure(Code.Canceled),
      },
      {
        events: [chunk('2')],
        atTheEnd: () => void Object.assign(runtime, { phase: 'Suspended' }),
        ...failure(Code.Unavailable),
      },
    ]);
    const stopping = new AbortController();
    expect(await run()).toEqual({ againInMs: expect.any(Number) });
    const parts: unknown[] = [];
    const publish: TurnWorkerDeps['publish'] = async ({ event, payload }) => {
      if (event === 'message.chunk') parts.push((payload as { chunk: string }).chunk);
      return true;
    };
    expect(await run({ publish }, stopping.signal)).toEqual({ againInMs: 0 });
    // Nothing is published or saved later.
    expect(parts.join('')).toBe('Well, it is ');
    expect(await run()).toEqual({ againInMs: 90_000 });
    expect(spanErrors).toEqual(['lease_lost', 'shut_down', 'runtime_suspended']);
    expect(await shown()).toMatchObject({ turn: 'running', error: undefined });
    expect(positions()).toEqual([
      [1, 0],
      [1, 0],
      [1, 1],
    ]);
  });

  it('waits for a runtime that was resumed after the message, and without a limit for one whose start is queued', async () => {
    const { run, runtime, positions, turn } = await ask([], {
      runtime: { phase: 'Progressing', wanted_at: new Date(Date.now() + 5 * MINUTE_MS) },
    });
    const after = (minutes: number) => ({ clock: { now: () => new Date(Date.now() + minutes * MINUTE_MS) } });
    expect(await run(after(14))).toEqual({ againInMs: expect.any(Number) });
    Object.assign(runtime, { reason: 'Queued' });
    expect(await run(after(10_000))).toEqual({ againInMs: 90_000 });
    expect([positions(), (await turn()).status]).toEqual([[], 'queued']);
  });

  it('costs at most 50 statements per second for 1,000 turns that wait for their runtimes', async () => {
    const { run, runtime } = await ask([], { runtime: { phase: 'Progressing' } });
    let statements = 0;
    const counting = world.uswarm.database.withPlugin({
      transformQuery: ({ node }) => ((statements += 1), node),
      transformResult: async ({ result }) => result,
    });
    const { againInMs } = (await run(createWorkerDeps(createStores(counting), () => runtime))) as { againInMs: number };
    expect(statements).toBeGreaterThan(0);
    // The release, and one turn's share of a claim for 32 turns, which takes four statements.
    expect((1_000 * (statements + 1 + 4 / 32)) / (againInMs / 1_000)).toBeLessThanOrEqual(50);
  });
});

describe('a turn that is stopped', () => {
  it('ends with the text that its runtime reports', async () => {
    const { run, stop, told, shown } = await ask([
      { events: [chunk('Let')], atTheEnd: async () => void (await stop()), ...failure(Code.Unavailable) },
      { events: [chunk(' me'), stopped] },
    ]);
    expect(await run()).toEqual(COMPLETED);
    expect(told.stops).toEqual([1]);
    expect(await shown()).toMatchObject({ turn: 'stopped', reply: 'incomplete', text: 'Let me' });
  });

  it.each<[string, ScriptedRuntimeOptions['onStop'], Partial<RuntimeRow>]>([
    [
      'no longer has it',
      () => {
        throw failure(Code.NotFound).error;
      },
      {},
    ],
    ['is suspended', undefined, { phase: 'Suspended' }],
    ['is not ready', undefined, { phase: 'Progressing' }],
  ])('ends with its text so far if its runtime %s', async (_what, onStop, then) => {
    const { run, runtime, stop, shown, positions } = await ask(
      [
        {
          events: [chunk('Let')],
          async atTheEnd() {
            await stop();
            Object.assign(runtime, then);
          },
          ...failure(Code.Unavailable),
        },
      ],
      onStop === undefined ? {} : { onStop },
    );
    expect(await run()).toEqual(COMPLETED);
    expect(await shown()).toMatchObject({ turn: 'stopped', reply: 'incomplete', text: 'Let' });
    expect(positions()).toHaveLength(1);
  });
});

describe('a turn whose model provider asks to wait', () => {
  const WAIT_MS = 10 * MINUTE_MS;
  const LIMITED: Call = {
    events: [entry(1), chunk('Half'), { case: 'waiting', value: { retryAfterMs: WAIT_MS } }],
  };
  const refusesStop = (): never => {
    throw failure(Code.NotFound).error;
  };

  it('releases its worker although its runtime does not stop, and then continues with its journal', async () => {
    const { run, told, shown, spanErrors } = await ask([LIMITED, ANSWERED], { onStop: refusesStop });
    expect(await run()).toEqual({ againInMs: WAIT_MS });
    expect([told.stops, spanErrors]).toEqual([[1], []]);
    expect(await shown()).toMatchObject({ turn: 'running', reply: undefined });
    const early = (await run()) as { againInMs: number };
    expect(early.againInMs).toBeGreaterThan(WAIT_MS / 2);
    const clock = { now: () => new Date(Date.now() + WAIT_MS) };
    expect(await run({ clock })).toEqual(COMPLETED);
    expect(told.requests.at(-1)).toMatchObject({ generation: 2, fromEvent: 0n, journal: [{ number: 1 }] });
    expect(await shown()).toMatchObject({ turn: 'done', reply: 'delivered', text: '42' });
  });

  it('ends with its text, without another model call, if it is stopped while it waits', async () => {
    const { run, stop, positions, shown } = await ask([LIMITED]);
    await run();
    await stop();
    expect(await run()).toEqual(COMPLETED);
    expect(await shown()).toMatchObject({ turn: 'stopped', reply: 'incomplete', text: 'Half' });
    expect(positions()).toHaveLength(1);
  });
});

describe('the limits of a turn', () => {
  const NOTE = 'The token limit of your plan for this month is reached. It resets on 2026-12-01 (UTC).';
  const limits = { turnBudget: async () => ({ tokens: null }) };

  it('include half an hour from its start, in whichever process, unless another time is configured', async () => {
    const again = (): Call => ({ events: [chunk('.')], atTheEnd: () => stopping.abort(), ...failure(Code.Canceled) });
    const { run, job, told, positions, shown } = await ask([again(), again()]);
    let stopping = new AbortController();
    await run({}, stopping.signal);
    const started_at = new Date(Date.now() - 31 * MINUTE_MS);
    await world.uswarm.database.updateTable('turns').set({ started_at }).where('id', '=', job.subjectId).execute();
    stopping = new AbortController();
    expect(await run({ deadlineMs: 24 * 60 * MINUTE_MS }, stopping.signal)).toEqual({ againInMs: 0 });
    expect(await run()).toEqual(COMPLETED);
    expect([positions().length, told.stops]).toEqual([2, [1]]);
    expect(await shown()).toMatchObject({ turn: 'failed', error: 'turn_deadline_exceeded' });
  });

  it('fail a queued turn with a note, without a call to its runtime', async () => {
    const { run, positions, shown } = await ask([]);
    expect(await run({ limits: { ...limits, reached: async () => LIMIT, reserve: async () => LIMIT } })).toEqual(
      COMPLETED,
    );
    const text = 'The token limit of this month is reached.';
    const error = 'token_limit_reached';
    const ended = { turn: 'failed', message: 'failed', reply: 'failed', text, error, notes: [NOTE] };
    expect(await shown()).toEqual({ ...ended, lines: [] });
    expect(positions()).toEqual([]);
  });

  it('stop a turn that continues beyond them, with its text so far', async () => {
    const { run, told, shown } = await ask([{ events: [chunk('Let me see'), used, tool, thinking, used, stopped] }]);
    const reserve = async () => ({ tokens: null });
    expect(await run({ limits: { ...limits, reserve, reached: async () => LIMIT } })).toEqual(COMPLETED);
    expect(told.stops).toEqual([1]);
    expect(await shown()).toMatchObject({ turn: 'failed', reply: 'incomplete', text: 'Let me see', notes: [NOTE] });
  });

  it('let a turn wait, without a call to its runtime, while other turns have reserved the rest', async () => {
    const { run, positions, shown } = await ask([ANSWERED]);
    const reached = async () => undefined;
    expect(await run({ limits: { ...limits, reached, reserve: async () => undefined } })).toEqual({
      againInMs: expect.any(Number),
    });
    expect(positions()).toEqual([]);
    expect(await run({}, undefined, { attempts: 2 })).toEqual(COMPLETED);
    expect(await shown()).toMatchObject({ turn: 'done', text: '42' });
  });
});

describe('the turns of a banned user', () => {
  const queued = async () => {
    await client.say('why?');
    return world.turnWorker.claim();
  };
  const ban = async () => setBanned(world.uswarm.database, await world.uswarm.idOf(world.user), true);

  it('are stopped while they run', async () => {
    const work = await queued();
    await (await world.turnWorker.writerOf(work)).begin();
    expect(await isStopRequested(world.turnWorker.stores.database, work.subjectId)).toBe(false);
    await ban();
    expect(await isStopRequested(world.turnWorker.stores.database, work.subjectId)).toBe(true);
  });

  it('are recognized when they are claimed, and before the call to the runtime', async () => {
    const work = await queued();
    await ban();
    expect((await world.turnWorker.turnOf(work)).user_banned).toBe(true);
    // The ban happened after the turn was read and before it begins.
    await (await world.turnWorker.writerOf(work)).begin();
    expect(await isStopRequested(world.turnWorker.stores.database, work.subjectId)).toBe(true);
  });

  it('are recognized in the transaction that begins them in a runtime', async () => {
    const work = await queued();
    await ban();
    const writer = await world.turnWorker.writerOf(work);
    const begun = await writer.begin({ instance: { id: 'i', budgeted: false }, untrusted: [] });
    expect(begun.stopRequested).toBe(true);
  });
});
