import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  AgentActivity,
  type Done,
  DoneSchema,
  EntryKind,
  Outcome,
  ResolutionSchema,
  type RunTurnRequest,
  RunTurnRequestSchema,
  type TurnEvent,
} from '@uswarm/runtime-proto';
import { describe, expect, it } from '@jest/globals';
import { activityEvent, chunkEvent, entryEvent, requestEvent } from './turn-events.js';
import { TurnAborted, type TurnRefusal } from './turn-end.js';
import { createTurnRegistry, defaultTurnLimits, type TurnContext, type TurnLimits } from './turn-registry.js';

const NEVER = new AbortController().signal;

type TurnInit = Exclude<MessageInitShape<typeof RunTurnRequestSchema>, RunTurnRequest>;

const request = (init: TurnInit = {}) =>
  create(RunTurnRequestSchema, { turnId: 'turn', generation: 1, agent: { id: 'agent' }, ...init });

const done = (text: string, outcome = Outcome.COMPLETED): Done => create(DoneSchema, { outcome, text });

async function all(events: AsyncIterable<TurnEvent>): Promise<TurnEvent[]> {
  const list: TurnEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

const summary = (events: readonly TurnEvent[]): string[] =>
  events.map(({ number, event }) =>
    `${number} ${event.case} ${event.case === 'chunk' || event.case === 'done' ? event.value.text : ''}`.trim(),
  );

/** A registry whose turns the test controls: each run waits for its `finish`. */
function setUp(limits: Partial<TurnLimits> = {}) {
  const runs: { context: TurnContext; finish: (end: Done) => void; fail: (error: Error) => void }[] = [];
  const errors: unknown[] = [];
  let started = Promise.withResolvers<void>();
  const clock = { ms: 0 };
  const turns = createTurnRegistry({
    run: (_request, context) => {
      const { promise, resolve, reject } = Promise.withResolvers<Done>();
      context.signal.addEventListener('abort', () => resolve(done('so far', Outcome.STOPPED)));
      runs.push({ context, finish: resolve, fail: reject });
      started.resolve();
      started = Promise.withResolvers();
      return promise;
    },
    limits: { ...defaultTurnLimits, ...limits },
    now: () => clock.ms,
    onError: (error) => errors.push(error),
  });
  /** Starts a turn and waits until it runs. */
  async function start(init: TurnInit = {}) {
    const running = started.promise;
    const events = all(turns.follow(request(init), NEVER));
    events.catch(() => undefined);
    await running;
    const run = runs.at(-1);
    if (run === undefined) throw new Error('no turn is running');
    return { ...run, events };
  }
  return { turns, runs, errors, clock, start };
}

/** Lets everything run that does not wait. */
const nextRound = () => new Promise((resolve) => setImmediate(resolve));

const refused = (refusal: TurnRefusal) => expect.objectContaining({ refusal });

describe('a turn registry', () => {
  it('numbers events from 1 and ends with done', async () => {
    const { start } = setUp();
    const { context, finish, events } = await start();
    context.emit(chunkEvent('Hello ', 0));
    context.emit(chunkEvent('world', 0));
    finish(done('Hello world'));
    expect(summary(await events)).toEqual(['1 chunk Hello', '2 chunk world', '3 done Hello world']);
  });

  it('passes on the latest tool token, from a renewal or from a request that re-attaches', async () => {
    const { turns, start } = setUp();
    const { context, finish, events } = await start({ toolToken: 'first' });
    expect(context.toolToken()).toBe('first');
    turns.renewTokens('turn', 1, { toolToken: 'second', modelToken: '' });
    expect(context.toolToken()).toBe('second');
    turns.follow(request({ toolToken: 'third' }), NEVER);
    expect(context.toolToken()).toBe('third');
    // An orchestrator of release 0.2 re-attaches.
    turns.follow(request(), NEVER);
    expect(context.toolToken()).toBe('third');
    finish(done(''));
    await events;
  });

  it('passes on the latest token for the model gateway and keeps it if only the tool token is renewed', async () => {
    const { turns, start } = setUp();
    const { context, finish, events } = await start({ modelToken: 'first' });
    turns.renewTokens('turn', 1, { toolToken: 'tool', modelToken: '' });
    expect({ tool: context.toolToken(), model: context.modelToken() }).toEqual({ tool: 'tool', model: 'first' });
    turns.renewTokens('turn', 1, { toolToken: '', modelToken: 'second' });
    expect({ tool: context.toolToken(), model: context.modelToken() }).toEqual({ tool: 'tool', model: 'second' });
    finish(done(''));
    await events;
  });

  it('is not known to a caller that stores no entries, until it has ended', async () => {
    const { turns, start } = setUp();
    const { context, finish, events } = await start({ journaled: true });
    expect(() => turns.follow(request(), NEVER)).toThrow(refused('not_found'));
    context.emit(chunkEvent('Hello', 0));
    finish(done('Hello'));
    await events;
    expect(summary(await all(turns.follow(request(), NEVER)))).toEqual(['1 chunk Hello', '2 done Hello']);
  });

  it('does not renew the tokens of another turn or generation', async () => {
    const { turns, start } = setUp();
    const { context, finish } = await start({ generation: 2 });
    const tokens = { toolToken: 'x', modelToken: 'y' };
    expect(context.toolToken()).toBeUndefined();
    expect(() => turns.renewTokens('other', 2, tokens)).toThrow(refused('not_found'));
    expect(() => turns.renewTokens('turn', 3, tokens)).toThrow(refused('not_found'));
    expect(() => turns.renewTokens('turn', 1, tokens)).toThrow(refused('superseded'));
    expect(context.toolToken()).toBeUndefined();
    finish(done(''));
  });

  it('invariant 4: waits at a barrier until its event is committed, by Advance or by a request that re-attaches', async () => {
    const { turns, start } = setUp();
    const { context, finish, events } = await start();
    const entry = entryEvent({ number: 1, kind: EntryKind.STEP, body: '{}' });
    const order: string[] = [];
    context.emit(entry, true);
    const first = context.committed(NEVER).then(() => order.push('first'));
    turns.advance('turn', 1, { committedThrough: 0, resolutions: [] });
    await nextRound();
    order.push('advanced');
    turns.advance('turn', 1, { committedThrough: 1, resolutions: [] });
    await first;
    context.emit(entry, true);
    const second = context.committed(NEVER).then(() => order.push('second'));
    await nextRound();
    order.push('re-attached');
    turns.follow(request({ fromEvent: 2n }), NEVER);
    await second;
    expect(order).toEqual(['advanced', 'first', 're-attached', 'second']);
    finish(done(''));
    expect((await events).map(({ barrier }) => barrier)).toEqual([true, true, false]);
  });

  it('keeps the arguments of a request until its outcome is known, so that another orchestrator can read them', async () => {
    const { turns, start } = setUp();
    const run = await start();
    for (const callId of ['open', 'executed'])
      run.context.emit(requestEvent({ callId, tool: 't', arguments: '{"a":1}' }));
    turns.advance('turn', 1, {
      committedThrough: 2,
      resolutions: [create(ResolutionSchema, { callId: 'executed', text: 'ok' })],
    });
    run.finish(done('end'));
    const replayed = await all(turns.follow(request(), NEVER));
    const requests = replayed.flatMap(({ event }) => (event.case === 'request' ? [event.value] : []));
    expect(requests.map((each) => ({ callId: each.callId, arguments: each.arguments }))).toEqual([
      { callId: 'open', arguments: '{"a":1}' },
      { callId: 'executed', arguments: '' },
    ]);
  });

  it('does not commit events that do not exist, or those of another turn or generation', async () => {
    const { turns, start } = setUp();
    const { context, finish } = await start({ generation: 2 });
    turns.advance('turn', 2, { committedThrough: 100, resolutions: [] });
    context.emit(entryEvent({ number: 1, kind: EntryKind.STEP, body: '{}' }), true);
    const stop = new AbortController();
    const waiting = context.committed(stop.signal);
    expect(() => turns.advance('other', 2, { committedThrough: 1, resolutions: [] })).toThrow(refused('not_found'));
    expect(() => turns.advance('turn', 1, { committedThrough: 1, resolutions: [] })).toThrow(refused('superseded'));
    stop.abort(new Error('still waiting'));
    await expect(waiting).rejects.toThrow('still waiting');
    finish(done(''));
  });

  it('ends a turn that is stopped while it waits at a barrier', async () => {
    const { turns, start } = setUp();
    const { context, events } = await start();
    context.emit(entryEvent({ number: 1, kind: EntryKind.STEP, body: '{}' }), true);
    const waiting = context.committed(context.signal);
    turns.stop('turn', 1);
    await expect(waiting).rejects.toEqual(new TurnAborted('stopped'));
    expect(summary(await events)).toEqual(['1 entry', '2 done so far']);
  });

  it('runs a turn once for repeated requests', async () => {
    const { turns, runs, start } = setUp();
    const { context, finish, events } = await start();
    context.emit(chunkEvent('a', 0));
    const second = all(turns.follow(request(), NEVER));
    const fromTheMiddle = all(turns.follow(request({ fromEvent: 1n }), NEVER));
    finish(done('a'));
    expect(await second).toEqual(await events);
    expect(await fromTheMiddle).toEqual((await events).slice(1));
    expect(runs).toHaveLength(1);
  });

  it('continues a turn without followers and replays its events to a client that returns', async () => {
    const { turns, start } = setUp();
    const hangUp = new AbortController();
    const first = all(turns.follow(request({ turnId: 'other' }), hangUp.signal));
    const { context, finish } = await start({ turnId: 'other' });
    hangUp.abort();
    await first;
    expect(context.signal.aborted).toBe(false);
    context.emit(chunkEvent('later', 0));
    finish(done('later'));
    const again = await all(turns.follow(request({ turnId: 'other' }), NEVER));
    expect(summary(again)).toEqual(['1 chunk later', '2 done later']);
  });

  it('rejects a request to follow an unknown turn', () => {
    const { turns } = setUp();
    expect(() => turns.follow(request({ fromEvent: 3n }), NEVER)).toThrow(refused('not_found'));
  });

  it('rejects a position after the last event', async () => {
    const { turns, start } = setUp();
    await start();
    expect(() => turns.follow(request({ fromEvent: 1n }), NEVER)).toThrow(refused('beyond_the_end'));
  });

  it('replaces a lower generation with a higher one and then rejects the lower one', async () => {
    const { turns, start } = setUp();
    const first = await start();
    const second = await start({ generation: 2 });
    await expect(first.events).rejects.toEqual(refused('superseded'));
    expect(first.context.signal.reason).toEqual(new TurnAborted('lost'));
    first.context.emit(chunkEvent('too late', 0));
    second.finish(done('new'));
    expect(summary(await second.events)).toEqual(['1 done new']);
    expect(() => turns.follow(request({ generation: 1 }), NEVER)).toThrow(refused('superseded'));
    expect(() => turns.follow(request({ generation: 3, fromEvent: 1n }), NEVER)).toThrow(refused('not_found'));
  });

  it('stops a turn by aborting it and returns the text so far', async () => {
    const { turns, start } = setUp();
    const { context, events } = await start();
    turns.stop('turn', 1);
    expect(context.signal.reason).toEqual(new TurnAborted('stopped'));
    expect((await events).at(-1)?.event.value).toMatchObject({ outcome: Outcome.STOPPED, text: 'so far' });
    expect(() => turns.stop('turn', 1)).not.toThrow();
  });

  it('does not stop another generation', async () => {
    const { turns, start } = setUp();
    await start({ generation: 2 });
    expect(() => turns.stop('turn', 1)).toThrow(refused('superseded'));
    expect(() => turns.stop('turn', 3)).toThrow(refused('not_found'));
    expect(() => turns.stop('unknown', 1)).toThrow(refused('not_found'));
  });

  it('lists running turns with their activity, and reports the idle time', async () => {
    const { turns, clock, start } = setUp();
    clock.ms = 40;
    expect(turns.idleMs()).toBe(40);
    const { context, finish, events } = await start();
    context.emit(activityEvent(AgentActivity.WRITING));
    const [running] = turns.running();
    expect(running).toMatchObject({ turnId: 'turn', generation: 1, agentId: 'agent', activity: AgentActivity.WRITING });
    expect(turns.idleMs()).toBe(0);
    finish(done(''));
    await events;
    clock.ms = 100;
    expect(turns.running()).toEqual([]);
    expect(turns.idleMs()).toBe(60);
  });

  it('aborts a turn whose events exceed the limit, without a gap in the numbers', async () => {
    const { start } = setUp({ bytesPerTurn: 100 });
    const { context, events } = await start();
    context.emit(chunkEvent('x'.repeat(60), 0));
    context.emit(chunkEvent('y'.repeat(60), 0));
    expect(context.signal.reason).toEqual(new TurnAborted('too_long'));
    expect((await events).map(({ number }) => number)).toEqual([1n, 2n]);
  });

  it('removes finished turns above the size limit, the oldest first', async () => {
    const { turns, start } = setUp({ bytesFinished: 150 });
    for (const turnId of ['first', 'second']) {
      const { context, finish, events } = await start({ turnId });
      context.emit(chunkEvent('x'.repeat(80), 0));
      finish(done(''));
      await events;
    }
    expect(() => turns.follow(request({ turnId: 'first', fromEvent: 1n }), NEVER)).toThrow(refused('not_found'));
    expect(await all(turns.follow(request({ turnId: 'second', fromEvent: 1n }), NEVER))).toHaveLength(1);
  });

  it('rejects turns above the limit', async () => {
    const { turns, start } = setUp({ running: 1 });
    await start();
    expect(() => turns.follow(request({ turnId: 'one more' }), NEVER)).toThrow(refused('too_many_turns'));
  });

  it('ends a turn whose runner throws, and reports the error', async () => {
    const { errors, start } = setUp();
    const { fail, events } = await start();
    fail(new Error('a bug'));
    expect((await events).at(-1)?.event.value).toMatchObject({ outcome: Outcome.FAILED, errorCode: 'internal_error' });
    expect(errors).toEqual([new Error('a bug')]);
  });

  it('waits for running turns at shutdown and abandons those that exceed the grace period', async () => {
    const { turns, start } = setUp();
    const quick = await start({ turnId: 'quick' });
    const slow = await start({ turnId: 'slow' });
    quick.finish(done('in time'));
    await turns.shutDown(20);
    expect(summary(await quick.events)).toEqual(['1 done in time']);
    await expect(slow.events).rejects.toEqual(refused('shutting_down'));
    expect(slow.context.signal.reason).toEqual(new TurnAborted('lost'));
    expect(() => turns.follow(request({ turnId: 'new' }), NEVER)).toThrow(refused('shutting_down'));
  });
});
