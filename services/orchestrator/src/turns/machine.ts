import type { MessageErrorCode } from '@uswarm/contract';
import type { LimitReached } from '../metering/usage-limits.js';
import type { JobResult } from '../platform/jobs/job-worker.js';
import type { TurnStatus } from '../platform/database/schema.js';

/**
 * A turn in the worker that holds its lease. `step` is pure: events bring the time, and a worker performs the effects in
 * their order. The last effect reports the next event. If one fails, the rest are dropped and its failure is the event.
 *
 * | state      | event                          | next state   | effects                                              |
 * | ---------- | ------------------------------ | ------------ | ---------------------------------------------------- |
 * | leased     | leased: turn that has ended    | ended: done  |                                                      |
 * |            | leased: waits, or suspended    | ended: again |                                                      |
 * |            | leased: failed, late, stopped  | ending       | abandon                                              |
 * |            | leased: the next turn answers  | starting     | merge into the next turn                             |
 * |            | leased                         | starting     | prepare (new turns), or begin                        |
 * | starting   | merged                         | ended: done  |                                                      |
 * |            | merged: not possible           | starting     | prepare                                              |
 * |            | prepared                       | starting     | begin                                                |
 * |            | tokens reserved                | ended: again |                                                      |
 * |            | tokens used                    | ending       | note limit, abandon                                  |
 * |            | begun: queued before           | connecting   | connect                                              |
 * |            | begun: running before          | checking     | check stop                                           |
 * | checking   | checked: stop requested        | stopping     | stop in runtime                                      |
 * |            | checked                        | finding      | find runtime                                         |
 * | stopping   | stop answered: accepted        | finding      | find runtime                                         |
 * |            | stop answered: refused         | ending       | finish as stopped                                    |
 * | finding    | found: ready                   | connecting   | connect                                              |
 * |            | found: not ready               | waiting      | forget, make runtime due (first time), sleep         |
 * |            | found: suspended               | ended: again |                                                      |
 * | connecting | connected                      | following    | receive                                              |
 * |            | connected: stop requested      | ending       | finish as stopped                                    |
 * | following  | applied                        | following    | advance (if the runtime waits), receive              |
 * |            | applied: over the limit        | limiting     | stop over limit                                      |
 * |            | completed                      | ending       | leave                                                |
 * |            | suspended                      | ending       | stop in runtime, leave                               |
 * |            | postponed                      | ending       | postpone, stop in runtime, leave                     |
 * |            | postponed: beyond the deadline | ending       | stop in runtime, finish as failed, leave             |
 * | limiting   | done                           | following    | as after `applied`                                   |
 * | connecting | interrupted                    | waiting      | leave, as after `found: not ready`                   |
 * |  following | refused                        | ending       | leave, finish as failed                              |
 * |  limiting  | lost                           | lost         | leave, check stop                                    |
 * | lost       | checked: stop requested        | ending       | finish as stopped                                    |
 * |            | checked                        | lost         | check limit                                          |
 * |            | limit checked: reached         | ending       | note limit, finish as limited                        |
 * |            | limit checked                  | lost         | restart                                              |
 * |            | restarted: a new generation    | checking     | forget, check stop                                   |
 * |            | restarted: too often           | ending       | finish as failed                                     |
 * | waiting    | done                           | checking     | check stop                                           |
 * | ending     | done                           | ended        |                                                      |
 * | with a run | exceeded (once)                | ending       | leave, stop in runtime, finish as failed             |
 * | no run     | exceeded                       | ended: throw |                                                      |
 * | all        | lease lost, shut down          | ended: again |                                                      |
 * | all        | failed                         | ended: throw |                                                      |
 *
 * A turn over its deadline is cut off (stop in runtime, finish as failed) instead of `find runtime` and `connect`, and a
 * followed one is interrupted without `advance`. A turn that is interrupted for too long fails. `forget` is short for
 * `forget what is known`. All other events change nothing.
 */
export function step(state: TurnState, event: MachineEvent): Step {
  if (state.at === 'ended') return stay(state);
  if (event.type === 'shut down') return ended({ againInMs: 0 });
  if (event.type === 'lease lost') return ended({ againInMs: LOST_MS });
  if (event.type === 'failed') return ended('thrown');
  if (event.type === 'exceeded') {
    return state.run === undefined ? ended('thrown') : ending(undefined, { do: 'leave' }, ...cutOff(event.code));
  }
  if (event.type === 'interrupted' || event.type === 'refused' || event.type === 'lost') return broken(state, event);
  return (TRANSITIONS[state.at] as Transition<TurnState['at']>)(state, event);
}

/** A turn fails after this many lost generations in a row without progress. */
export const GENERATIONS = 2;
/** A turn fails if its runtime is unreachable for this long. Replacing a runtime on a lost node takes up to 100 seconds. */
export const REACHABLE_WITHIN_MS = 2 * 60_000;
/** A turn fails if its runtime is not ready within this time. */
export const READY_WITHIN_MS = 10 * 60_000;
/** A turn is made due when its runtime becomes ready. This delay covers a crash in the process that noticed it. */
const NOT_READY_MS = 90_000;
/** A suspended runtime notifies when it is ready again; this covers a lost notification. */
const SUSPENDED_MS = 90_000;
/** Delay before a turn tries again to reserve tokens. */
const RESERVED_MS = 1_000;
/** Delay after another process has taken the turn. */
const LOST_MS = 2_000;
/** A turn fails after this many internal errors. */
const FAILURES = 5;

/** The transaction that ends a turn completes its job. */
const COMPLETED: JobResult = { done: true, isCompleted: true };

/** `suspended`: also while its start is queued. The turn then waits without a time limit. */
export type RuntimeState = 'ready' | 'not ready' | 'suspended';

/** Times are clock times in ms. */
export interface LeasedTurn {
  status: TurnStatus;
  isStopRequested: boolean;
  isUserBanned: boolean;
  isBackground: boolean;
  hasReply: boolean;
  /** True if the agent's next turn in the conversation can answer its message, too. */
  isFollowed: boolean;
  /** True if a runtime has it. */
  hasInstance: boolean;
  /** Set while its model provider wants it to wait. */
  waitsUntil: number;
  runtime: RuntimeState;
  /** The runtime should be ready soon after it. */
  healthySince: number;
}

interface Timed {
  now: number;
}

/** `events`: applied in this generation. */
export interface Applied extends Timed {
  events: number;
  /** The runtime goes on after the commit of this event, or after its calls' results. */
  waitsFor: number | undefined;
  /** True if the runtime asks for permission to call a model. */
  isAttempt: boolean;
  /** True if the user has stopped the turn. */
  isStopped: boolean;
  isOverLimit: boolean;
}

export type MachineEvent =
  | ({ type: 'leased'; turn: LeasedTurn | undefined; failures: number; attempts: number } & Timed)
  | { type: 'merged'; isMerged: boolean }
  | { type: 'prepared' }
  | ({ type: 'begun'; deadlineAt: number } & Timed)
  | { type: 'tokens reserved' }
  | { type: 'tokens used'; limit: LimitReached }
  | ({ type: 'checked'; isStopRequested: boolean } & Timed)
  | ({ type: 'stop answered'; isAccepted: boolean } & Timed)
  | ({ type: 'found'; runtime: RuntimeState; events: number } & Timed)
  | { type: 'connected'; isStopRequested: boolean }
  | ({ type: 'applied' } & Applied)
  | { type: 'completed' }
  | { type: 'suspended' }
  | ({ type: 'postponed'; waitMs: number } & Timed)
  | ({ type: 'interrupted'; events: number } & Timed)
  | { type: 'refused' }
  | { type: 'lost' }
  | { type: 'limit checked'; limit: LimitReached | undefined }
  | { type: 'restarted'; hasGeneration: boolean }
  | { type: 'done' }
  | { type: 'exceeded'; code: MessageErrorCode }
  | { type: 'lease lost' }
  | { type: 'shut down' }
  | { type: 'failed' };

export type Effect =
  | { do: 'merge' }
  | { do: 'prepare' | 'begin' | 'check stop' | 'stop in runtime' | 'find runtime' | 'connect' | 'receive' }
  | { do: 'stop over limit' | 'leave' | 'make runtime due' | 'forget what is known' | 'check limit' }
  | { do: 'advance'; through: number }
  /** `retries`: interruptions before it, without progress. */
  | { do: 'sleep'; retries: number }
  | { do: 'restart'; limit: number }
  | { do: 'postpone'; waitMs: number }
  | { do: 'note limit'; limit: LimitReached }
  | { do: 'finish'; as: 'stopped' | 'limited' }
  | { do: 'finish'; as: 'failed'; code: MessageErrorCode }
  | { do: 'abandon'; as: 'stopped' | 'failed'; code: MessageErrorCode };

/** A turn that has begun. */
export interface Run {
  deadlineAt: number;
  hasInstance: boolean;
  /** True once the runtime was asked to stop because a limit is reached. */
  isLimited: boolean;
  /** `since`: when the interruptions began; `events`: how many events had arrived by then. */
  outage: { since: number; events: number };
  /** Without progress between them. */
  interruptions: number;
}

const NO_OUTAGE = { since: 0, events: -1 };

type RunningAt = 'checking' | 'stopping' | 'finding' | 'connecting' | 'following' | 'lost' | 'waiting';

export type TurnState =
  | { at: 'leased'; run?: undefined }
  | { at: 'starting'; turn: LeasedTurn; run?: undefined }
  | { at: RunningAt; run: Run }
  | { at: 'limiting'; run: Run; applied: Applied }
  /** Without a run if a further limit is an error. */
  | { at: 'ending'; result: JobResult; run?: Run | undefined }
  | { at: 'ended'; result: JobResult | 'thrown'; run?: undefined };

export interface Step {
  state: TurnState;
  effects: readonly Effect[];
}

export const LEASED: TurnState = { at: 'leased' };

const stay = (state: TurnState): Step => ({ state, effects: [] });
const ended = (result: JobResult | 'thrown'): Step => ({ state: { at: 'ended', result }, effects: [] });
const goTo = (at: RunningAt, run: Run, ...effects: Effect[]): Step => ({ state: { at, run }, effects });
const ending = (run: Run | undefined, ...effects: Effect[]): Step => ({
  state: { at: 'ending', result: COMPLETED, run },
  effects,
});

const finish = (as: 'stopped' | 'limited'): Effect => ({ do: 'finish', as });
const fail = (code: MessageErrorCode): Effect => ({ do: 'finish', as: 'failed', code });
const abandon = (as: 'stopped' | 'failed', code: MessageErrorCode): Effect => ({ do: 'abandon', as, code });
const cutOff = (code: MessageErrorCode): Effect[] => [{ do: 'stop in runtime' }, fail(code)];

type Transition<At> = (state: TurnState & { at: At }, event: MachineEvent) => Step;

const TRANSITIONS: { [At in Exclude<TurnState['at'], 'ended'>]: Transition<At> } = {
  leased: (state, event) => (event.type === 'leased' ? start(event) : stay(state)),

  starting(state, event) {
    if (event.type === 'merged') return event.isMerged ? ended(COMPLETED) : { state, effects: [{ do: 'prepare' }] };
    if (event.type === 'prepared') return { state, effects: [{ do: 'begin' }] };
    if (event.type === 'tokens reserved') return ended({ againInMs: RESERVED_MS });
    if (event.type === 'tokens used') {
      return ending(undefined, { do: 'note limit', limit: event.limit }, abandon('failed', 'token_limit_reached'));
    }
    if (event.type !== 'begun') return stay(state);
    const { hasInstance, status } = state.turn;
    const { deadlineAt, now } = event;
    const run: Run = { deadlineAt, hasInstance, isLimited: false, outage: NO_OUTAGE, interruptions: 0 };
    // `connect` finds out if a new turn was stopped since.
    return status === 'queued' ? unlessOverdue(run, now, 'connecting') : goTo('checking', run, { do: 'check stop' });
  },

  checking(state, event) {
    if (event.type !== 'checked') return stay(state);
    const { run } = state;
    return event.isStopRequested
      ? goTo('stopping', run, { do: 'stop in runtime' })
      : unlessOverdue(run, event.now, 'finding');
  },

  stopping(state, event) {
    if (event.type !== 'stop answered') return stay(state);
    // If a runtime has the turn, its stream reports how the turn ended.
    return event.isAccepted ? unlessOverdue(state.run, event.now, 'finding') : ending(state.run, finish('stopped'));
  },

  finding(state, event) {
    if (event.type !== 'found') return stay(state);
    const { run } = state;
    if (event.runtime === 'suspended') return ended({ againInMs: SUSPENDED_MS });
    if (event.runtime === 'ready') return goTo('connecting', run, { do: 'connect' });
    // A turn that no runtime has begun may wait as long as a queued one: its pod may be starting or terminating.
    return interrupted(run, event, run.hasInstance ? REACHABLE_WITHIN_MS : READY_WITHIN_MS);
  },

  connecting(state, event) {
    if (event.type !== 'connected') return stay(state);
    const run = { ...state.run, hasInstance: true };
    return event.isStopRequested ? ending(run, finish('stopped')) : goTo('following', run, { do: 'receive' });
  },

  following(state, event) {
    const { run } = state;
    switch (event.type) {
      case 'applied':
        return event.isOverLimit && !run.isLimited
          ? { state: { at: 'limiting', run, applied: event }, effects: [{ do: 'stop over limit' }] }
          : afterEvent(run, event);
      case 'completed':
        return ending(undefined, { do: 'leave' });
      case 'suspended':
        return ending(undefined, { do: 'stop in runtime' }, { do: 'leave' });
      case 'postponed':
        return postponed(run, event.waitMs, event.now);
      default:
        return stay(state);
    }
  },

  limiting: (state, event) =>
    event.type === 'done' ? afterEvent({ ...state.run, isLimited: true }, state.applied) : stay(state),

  lost(state, event) {
    const { run } = state;
    if (event.type === 'checked') {
      return event.isStopRequested ? ending(run, finish('stopped')) : goTo('lost', run, { do: 'check limit' });
    }
    if (event.type === 'limit checked') {
      return event.limit === undefined
        ? goTo('lost', run, { do: 'restart', limit: GENERATIONS })
        : ending(run, { do: 'note limit', limit: event.limit }, finish('limited'));
    }
    if (event.type !== 'restarted') return stay(state);
    if (!event.hasGeneration) return ending(run, fail('runtime_lost'));
    // A runtime has responded, and the events of the next generation are counted from 0.
    const next = { ...run, hasInstance: false, isLimited: false, outage: NO_OUTAGE };
    return goTo('checking', next, { do: 'forget what is known' }, { do: 'check stop' });
  },

  waiting(state, event) {
    if (event.type !== 'done') return stay(state);
    const { run } = state;
    return goTo('checking', { ...run, interruptions: run.interruptions + 1 }, { do: 'check stop' });
  },

  ending: (state, event) => (event.type === 'done' ? ended(state.result) : stay(state)),
};

function start({ turn, failures, attempts, now }: MachineEvent & { type: 'leased' }): Step {
  if (turn === undefined || (turn.status !== 'queued' && turn.status !== 'running')) return ended({ done: true });
  if (failures >= FAILURES) return ending(undefined, abandon('failed', 'internal_error'));
  const isQueued = turn.status === 'queued';
  const { isStopRequested, isUserBanned, isBackground } = turn;
  // A turn that is about to end needs no runtime. Replies that have not begun are stopped without their job.
  const endsNow = isUserBanned || (isStopRequested && (!isQueued || isBackground));
  const waitMs = endsNow ? undefined : waitOf(turn, now);
  if (waitMs === 'too late') return ending(undefined, abandon('failed', 'runtime_not_ready'));
  if (waitMs !== undefined) return ended({ againInMs: waitMs });
  // The task was stopped, or its message was deleted.
  if (isBackground && (!turn.hasReply || (isQueued && isStopRequested))) {
    return ending(undefined, abandon('stopped', 'stopped'));
  }
  if (isQueued && isUserBanned) return ending(undefined, abandon('stopped', 'user_banned'));
  if (isQueued && turn.isFollowed && !isStopRequested)
    return { state: { at: 'starting', turn }, effects: [{ do: 'merge' }] };
  // A turn that waits for other turns' tokens retries every second and skips the preparation.
  const isPrepared = isQueued && attempts === 1;
  return { state: { at: 'starting', turn }, effects: [{ do: isPrepared ? 'prepare' : 'begin' }] };
}

function waitOf(
  { status, waitsUntil, runtime, healthySince }: LeasedTurn,
  now: number,
): number | 'too late' | undefined {
  // A workspace's jobs can become due early, for example when its runtime is ready.
  if (waitsUntil > now) return waitsUntil - now;
  // A turn also waits if its runtime was suspended while it ran.
  if (runtime === 'suspended') return SUSPENDED_MS;
  if (status !== 'queued' || runtime === 'ready') return undefined;
  const leftMs = healthySince + READY_WITHIN_MS - now;
  return leftMs < 0 ? 'too late' : Math.min(NOT_READY_MS, leftMs + 1);
}

const unlessOverdue = (run: Run, now: number, at: 'finding' | 'connecting'): Step =>
  now >= run.deadlineAt
    ? ending(run, ...cutOff('turn_deadline_exceeded'))
    : goTo(at, run, { do: at === 'finding' ? 'find runtime' : 'connect' });

function afterEvent(run: Run, { now, events, waitsFor, isAttempt, isStopped }: Applied): Step {
  // The deadline has ended the stream, so a commit would fail, and the turn is about to be cut off.
  if (now >= run.deadlineAt) return interrupted(run, { now, events }, REACHABLE_WITHIN_MS, [{ do: 'leave' }]);
  // Without tokens, the call must not be sent.
  const isDenied = isAttempt && (run.isLimited || isStopped);
  const advance: Effect[] = waitsFor === undefined || isDenied ? [] : [{ do: 'advance', through: waitsFor }];
  return goTo('following', run, ...advance, { do: 'receive' });
}

/** Releases the turn. It fails if it would continue after its deadline. */
function postponed(run: Run, waitMs: number, now: number): Step {
  if (now + waitMs >= run.deadlineAt) return ending(run, ...cutOff('model_rate_limited'), { do: 'leave' });
  const effects: Effect[] = [{ do: 'postpone', waitMs }, { do: 'stop in runtime' }, { do: 'leave' }];
  return { state: { at: 'ending', result: { againInMs: waitMs }, run }, effects };
}

/** The connection to the runtime, or the runtime itself, has failed. */
function broken(state: TurnState, event: MachineEvent & { type: 'interrupted' | 'refused' | 'lost' }): Step {
  if (state.at !== 'connecting' && state.at !== 'following' && state.at !== 'limiting') return ended('thrown');
  const { run } = state;
  if (event.type === 'lost') return goTo('lost', run, { do: 'leave' }, { do: 'check stop' });
  if (event.type === 'refused') return ending(run, { do: 'leave' }, fail('runtime_refused'));
  return interrupted(run, event, REACHABLE_WITHIN_MS, [{ do: 'leave' }]);
}

/** @param withinMs how long interruptions without progress may last */
function interrupted(
  run: Run,
  { now, events }: { now: number; events: number },
  withinMs: number,
  first: readonly Effect[] = [],
): Step {
  const hasProgress = events > run.outage.events;
  const outage = hasProgress ? { since: now, events } : run.outage;
  const retries = hasProgress ? 0 : run.interruptions;
  const effects: Effect[] = [...first, { do: 'forget what is known' }];
  if (now - outage.since > withinMs) return ending(run, ...effects, fail('runtime_unreachable'));
  // Only on the first interruption: the reconciler backs off for a runtime that crashes repeatedly.
  if (retries === 0) effects.push({ do: 'make runtime due' });
  return goTo('waiting', { ...run, outage, interruptions: retries }, ...effects, { do: 'sleep', retries });
}
