import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type Effect,
  GENERATIONS,
  LEASED,
  type LeasedTurn,
  type MachineEvent,
  REACHABLE_WITHIN_MS,
  READY_WITHIN_MS,
  step,
  type Step,
  type TurnState,
} from './machine.js';

const SCHEDULES = 10_000;
const STARTED = 1_000_000;
const DEADLINE_AT = STARTED + 30 * 60_000;
const LONGEST_SLEEP_MS = 2_000;
const LIMIT = { scope: 'user', token_limit: 10, resets_at: '2026-12-01T00:00:00.000Z' } as const;

/** Chooses a possible event, the time that passes, and what else is true then. */
interface Decision {
  choice: number;
  ms: number;
  stops: boolean;
  flags: number;
}

interface Schedule {
  turn: LeasedTurn;
  failures: number;
  attempts: number;
  decisions: readonly Decision[];
}

const flag = fc.boolean();
const rarely = fc.nat(9).map((n) => n === 0);

const turns: fc.Arbitrary<LeasedTurn> = fc.record({
  status: fc.constantFrom('queued', 'running', 'queued', 'running', 'queued', 'running', 'done'),
  isStopRequested: rarely,
  isUserBanned: rarely,
  isBackground: rarely,
  hasReply: flag,
  isFollowed: rarely,
  hasInstance: flag,
  waitsUntil: fc.constantFrom(0, 0, 0, STARTED + 5_000),
  runtime: fc.constantFrom('ready', 'ready', 'ready', 'not ready', 'suspended'),
  healthySince: fc.constantFrom(STARTED, STARTED - READY_WITHIN_MS - 1),
});

const decisions: fc.Arbitrary<Decision> = fc.record({
  choice: fc.nat(999),
  ms: fc.oneof({ weight: 8, arbitrary: fc.nat(5_000) }, { weight: 1, arbitrary: fc.nat(60 * 60_000) }),
  stops: fc.nat(30).map((n) => n === 0),
  flags: fc.nat(63),
});

const schedules: fc.Arbitrary<Schedule> = fc.record({
  turn: turns,
  failures: fc.constantFrom(0, 0, 0, 0, 4, 5),
  attempts: fc.constantFrom(1, 1, 2),
  decisions: fc.array(decisions, { maxLength: 60 }),
});

/** Without further decisions, a turn completes. */
const CALM: Decision = { choice: 0, ms: 1, stops: false, flags: 0 };

/** The stores and the runtime, as the machine knows them. Checks what the machine asks of them. */
class World {
  readonly broken: string[] = [];
  readonly states = new Set<string>();
  readonly #schedule: Schedule;
  now = STARTED;
  /** Writes that end the turn, in the order of their commits. */
  readonly ends: string[] = [];
  postponedMs: number | undefined;
  lastFailure: string | undefined;
  #next = 0;
  #events = 0;
  #isStopped: boolean;
  #seesStop = false;
  #isFollowed = false;
  #isLimited = false;
  #restarts = 0;
  #outage = { since: 0, events: -1 };
  #dueAtOutage = -2;
  #isCutOff = false;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
    this.#isStopped = schedule.turn.isStopRequested;
  }

  get #decision(): Decision {
    return this.#schedule.decisions[this.#next] ?? CALM;
  }

  #require(rule: string, isKept: boolean): void {
    if (!isKept) this.broken.push(rule);
  }

  /** Performs an effect. Only the last one's event counts, except for failures. */
  perform(effect: Effect): MachineEvent {
    const decision = this.#decision;
    this.#next += 1;
    this.now += effect.do === 'sleep' ? Math.min(decision.ms, LONGEST_SLEEP_MS) : decision.ms;
    if (decision.stops) this.#isStopped = true;
    this.#check(effect);
    const options = this.#optionsOf(effect, decision);
    const event = options[decision.choice % options.length]!;
    this.#note(effect, event);
    return event;
  }

  #check(effect: Effect): void {
    const inStream = effect.do === 'receive' || effect.do === 'advance' || effect.do === 'stop over limit';
    this.#require(`${effect.do} needs the stream`, !inStream || this.#isFollowed);
    const isOutside = ['sleep', 'check stop', 'connect', 'find runtime', 'restart', 'check limit'].includes(effect.do);
    this.#require(`${effect.do} happens without the stream`, !isOutside || !this.#isFollowed);
    this.#require(
      'nothing follows the end',
      this.ends.length === 0 || ['leave', 'stop in runtime'].includes(effect.do),
    );
    this.#require('a turn that is known to be stopped does not restart', effect.do !== 'restart' || !this.#seesStop);
    if (effect.do === 'restart') this.#require('generations are limited', effect.limit === GENERATIONS);
    if (effect.do === 'stop over limit') {
      this.#require('the runtime is asked once per generation', !this.#isLimited);
      this.#isLimited = true;
    }
    if (effect.do === 'make runtime due') {
      this.#require('the runtime is made due once per outage', this.#dueAtOutage !== this.#outage.events);
      this.#dueAtOutage = this.#outage.events;
    }
    if (effect.do === 'sleep') {
      this.#require('retries are counted', Number.isSafeInteger(effect.retries) && effect.retries >= 0);
    }
  }

  #optionsOf(effect: Effect, { flags, choice }: Decision): MachineEvent[] {
    const { now } = this;
    const has = (bit: number): boolean => (flags & (1 << bit)) !== 0;
    const fails = choice % 37 === 36;
    const failures: MachineEvent[] = [
      { type: 'lease lost' },
      { type: 'shut down' },
      { type: 'failed' },
      { type: 'exceeded', code: 'reply_too_long' },
    ];
    // A stream can be closed whatever the turn has exceeded.
    if (fails) return effect.do === 'leave' ? failures.slice(0, 3) : failures;
    const interrupted: MachineEvent[] = [{ type: 'interrupted', events: this.#events, now }];
    switch (effect.do) {
      case 'merge':
        return [
          { type: 'merged', isMerged: true },
          { type: 'merged', isMerged: false },
        ];
      case 'prepare':
        return [{ type: 'prepared' }];
      case 'begin': {
        const begun: MachineEvent = { type: 'begun', deadlineAt: DEADLINE_AT, now };
        return [begun, begun, begun, { type: 'tokens reserved' }, { type: 'tokens used', limit: LIMIT }];
      }
      case 'check stop':
        return [{ type: 'checked', isStopRequested: this.#isStopped, now }];
      case 'stop in runtime':
        return [{ type: 'stop answered', isAccepted: has(0), now }];
      case 'find runtime':
        return (['ready', 'ready', 'not ready', 'suspended'] as const).map((runtime) => ({
          type: 'found',
          runtime,
          events: this.#events,
          now,
        }));
      case 'connect':
        return [
          { type: 'connected', isStopRequested: this.#isStopped && has(0) },
          { type: 'connected', isStopRequested: false },
          { type: 'connected', isStopRequested: false },
          ...interrupted,
          { type: 'lost' },
          { type: 'refused' },
        ];
      case 'receive': {
        const events = this.#events + 1;
        const waitsFor = has(0) ? events : undefined;
        const more = { isAttempt: has(1), isStopped: this.#isStopped, isOverLimit: has(2) && has(3) };
        const applied: MachineEvent = { type: 'applied', events, waitsFor, ...more, now };
        const postponed: MachineEvent = { type: 'postponed', waitMs: 1 + (choice % 7) * 100_000, now };
        return [
          { type: 'completed' },
          ...Array.from({ length: 8 }, () => applied),
          ...interrupted,
          { type: 'lost' },
          { type: 'lost' },
          { type: 'refused' },
          { type: 'suspended' },
          postponed,
        ];
      }
      case 'stop over limit':
      case 'advance':
        return [{ type: 'done' }, { type: 'done' }, { type: 'done' }, ...interrupted, { type: 'lost' }];
      case 'check limit':
        return [...Array.from({ length: 4 }, () => undefined), LIMIT].map((limit) => ({
          type: 'limit checked',
          limit,
        }));
      case 'restart':
        return [{ type: 'restarted', hasGeneration: this.#restarts < effect.limit - 1 || has(0) }];
      default:
        return [{ type: 'done' }];
    }
  }

  #note(effect: Effect, event: MachineEvent): void {
    const isDone = event.type === 'done' || event.type === 'stop answered';
    if (!isDone && isFailure(event)) {
      this.lastFailure = event.type;
      // A failing process drops its stream.
      if (event.type !== 'exceeded' && !BREAKS.has(event.type)) this.#isFollowed = false;
    }
    if (effect.do === 'leave') this.#isFollowed = false;
    if (event.type === 'connected') this.#isFollowed = !event.isStopRequested;
    if (event.type === 'checked') this.#seesStop = event.isStopRequested;
    if (event.type === 'applied') {
      this.#events = event.events;
      if (event.isAttempt) this.#restarts = 0;
    }
    if (event.type === 'completed' || event.type === 'suspended') this.ends.push(event.type);
    if (event.type === 'merged' && event.isMerged) this.ends.push(event.type);
    if (effect.do === 'postpone' && isDone) this.postponedMs = effect.waitMs;
    if ((effect.do === 'finish' || effect.do === 'abandon') && isDone) this.ends.push(`${effect.do} ${effect.as}`);
    if (event.type === 'restarted' && event.hasGeneration) {
      this.#restarts += 1;
      this.#events = 0;
      this.#isLimited = false;
      this.#outage = { since: 0, events: -1 };
      this.#dueAtOutage = -2;
    }
  }

  /** Called with each step. */
  follow(before: TurnState, event: MachineEvent, { state, effects }: Step): void {
    this.states.add(state.at);
    const does = (name: Effect['do']): boolean => effects.some((effect) => effect.do === name);
    this.#require('each state waits for an effect until the end', (state.at === 'ended') === (effects.length === 0));
    const interrupts = event.type === 'interrupted' || event.type === 'found' || event.type === 'applied';
    if (interrupts && (does('sleep') || state.at === 'ending') && event.events > this.#outage.events)
      this.#outage = { since: event.now, events: event.events };
    if (does('sleep') && interrupts) {
      const within =
        event.type === 'found' && before.run?.hasInstance === false ? READY_WITHIN_MS : REACHABLE_WITHIN_MS;
      this.#require('a runtime is unreachable for a limited time', event.now - this.#outage.since <= within);
      if (event.events === this.#outage.events && event.now === this.#outage.since)
        this.#require(
          'the first interruption makes the runtime due',
          does('make runtime due') || this.#dueAtOutage === event.events,
        );
    }
    if (event.type === 'checked' && event.isStopRequested)
      this.#require(
        'a stop reaches the runtime or ends the turn',
        does('stop in runtime') || endsAs(effects, 'stopped'),
      );
    if (event.type === 'stop answered' && before.at === 'stopping' && !event.isAccepted)
      this.#require('a stop that no runtime accepts ends the turn', endsAs(effects, 'stopped'));
    if (event.type === 'connected' && event.isStopRequested)
      this.#require('a turn that is stopped before its runtime has it ends', endsAs(effects, 'stopped'));
    const isChecked = ['begun', 'checked', 'stop answered', 'applied'].includes(event.type) && before.at !== 'ending';
    if (isChecked && 'now' in event && event.now >= DEADLINE_AT && before.at !== 'limiting')
      this.#require(
        'the deadline ends the turn',
        !does('connect') &&
          !does('find runtime') &&
          !does('receive') &&
          !(does('stop over limit') && state.at !== 'limiting'),
      );
    if (event.type === 'applied' && event.isAttempt && (event.isStopped || this.#isLimited))
      this.#require('a model call that must not be sent is not committed', !does('advance'));
    if (event.type === 'restarted' && !event.hasGeneration)
      this.#require('a turn that was lost too often fails', failsAs(effects, 'runtime_lost'));
    if (event.type === 'postponed' && event.now + event.waitMs >= DEADLINE_AT)
      this.#require('a turn does not wait beyond its deadline', failsAs(effects, 'model_rate_limited'));
    if (event.type === 'exceeded') {
      this.#require('a turn is cut off once', !this.#isCutOff || state.at === 'ended');
      this.#isCutOff = true;
    }
    if (BREAKS.has(event.type))
      this.#require(
        'a runtime that does not answer causes no internal errors',
        !(state.at === 'ended' && state.result === 'thrown'),
      );
    if (state.at === 'ended') this.#checkResult(state.result, event);
  }

  #checkResult(result: (TurnState & { at: 'ended' })['result'], event: MachineEvent): void {
    this.#require('a turn ends at most once', this.ends.length <= 1);
    if (result === 'thrown') {
      this.#require('only failures are thrown', this.lastFailure !== undefined);
    } else if ('againInMs' in result) {
      this.#require('a delay is a positive time', result.againInMs >= 0 && Number.isFinite(result.againInMs));
      if (event.type === 'done' || event.type === 'stop answered')
        this.#require('a postponed turn continues after its delay', result.againInMs === this.postponedMs);
    } else if (result.isCompleted === true) {
      this.#require('a completed job has ended its turn', this.ends.length === 1);
    } else {
      this.#require('a job without a turn has nothing to do', event.type === 'leased');
    }
  }
}

const BREAKS = new Set<MachineEvent['type']>(['interrupted', 'refused', 'lost']);
const isFailure = ({ type }: MachineEvent): boolean =>
  BREAKS.has(type) ||
  ['exceeded', 'lease lost', 'shut down', 'failed', 'tokens reserved', 'tokens used'].includes(type);

const endsAs = (effects: readonly Effect[], as: 'stopped'): boolean =>
  effects.some((effect) => effect.do === 'finish' && effect.as === as);

const failsAs = (effects: readonly Effect[], code: string): boolean =>
  effects.some((effect) => effect.do === 'finish' && effect.as === 'failed' && effect.code === code);

interface Finished {
  world: World;
  last: TurnState;
  seen: { state: TurnState; event: MachineEvent }[];
}

function run(schedule: Schedule): Finished {
  const { turn, failures, attempts } = schedule;
  const world = new World(schedule);
  const seen: Finished['seen'] = [];
  let state: TurnState = LEASED;
  let event: MachineEvent = { type: 'leased', turn, failures, attempts, now: world.now };
  world.states.add(state.at);
  for (let steps = 0; state.at !== 'ended' && steps < 2_000; steps += 1) {
    const taken = step(state, event);
    world.follow(state, event, taken);
    seen.push({ state, event });
    state = taken.state;
    for (const effect of taken.effects) {
      event = world.perform(effect);
      if (isFailure(event)) break;
    }
  }
  return { world, last: state, seen };
}

/** The number of kinds. */
const EVENTS = 24;
const STATES = [
  'checking',
  'connecting',
  'ended',
  'ending',
  'finding',
  'following',
  'leased',
  'limiting',
  'lost',
  'starting',
  'stopping',
  'waiting',
];

describe('the machine of a turn', () => {
  it('ends each turn once, within its limits, and reaches each state', () => {
    const states = new Set<string>();
    fc.assert(
      fc.property(schedules, (schedule) => {
        const { world, last } = run(schedule);
        for (const state of world.states) states.add(state);
        expect({ at: last.at, broken: world.broken }).toEqual({ at: 'ended', broken: [] });
      }),
      { numRuns: SCHEDULES },
    );
    expect([...states].toSorted()).toEqual(STATES);
  });

  it('defines each event in each state', () => {
    const examples = new Map<string, MachineEvent>();
    const states = new Map<string, TurnState>();
    fc.assert(
      fc.property(schedules, (schedule) => {
        const { seen, last } = run(schedule);
        for (const { state, event } of seen) {
          examples.set(event.type, event);
          states.set(state.at, state);
        }
        states.set(last.at, last);
      }),
      { numRuns: 1_000 },
    );
    for (const state of states.values()) {
      for (const event of examples.values()) {
        const taken = step(state, event);
        const isUnchanged = taken.state === state && taken.effects.length === 0;
        const isOver = taken.state.at === 'ended' && taken.effects.length === 0;
        const isDefined = isUnchanged || isOver || taken.effects.length > 0;
        expect({ isDefined, staysEnded: state.at !== 'ended' || isUnchanged }).toEqual({
          isDefined: true,
          staysEnded: true,
        });
      }
    }
    expect([...states.keys()].toSorted()).toEqual(STATES);
    expect(examples.size).toBe(EVENTS);
  });
});
