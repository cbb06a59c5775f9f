import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import fc from 'fast-check';
import { occurrencesOf, type Recurrence } from './recurrence.js';
import {
  type RunOutcome,
  type ScheduleEffect,
  type ScheduleEvent,
  type ScheduleState,
  step,
} from './schedule-state.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const LEASE_MS = MINUTE_MS;

/** Rules around clock changes in four zones, and around a leap day. */
const RECURRENCES: readonly Recurrence[] = [
  { startTime: '2026-03-06T02:30:00', timeZone: 'America/New_York', rrule: 'FREQ=DAILY' },
  { startTime: '2026-10-20T01:30:00', timeZone: 'America/New_York', rrule: 'FREQ=HOURLY;INTERVAL=5' },
  { startTime: '2026-03-20T02:00:00', timeZone: 'Europe/Berlin', rrule: 'FREQ=WEEKLY;BYDAY=SA,SU,MO' },
  { startTime: '2026-03-30T01:45:00', timeZone: 'Australia/Lord_Howe', rrule: 'FREQ=DAILY;COUNT=12' },
  { startTime: '2026-08-30T00:00:00', timeZone: 'America/Santiago', rrule: 'FREQ=DAILY;BYHOUR=0,12' },
  { startTime: '2028-02-26T08:00:00', timeZone: 'Europe/Berlin', rrule: 'FREQ=MONTHLY;BYMONTHDAY=27,28,29' },
  { startTime: '2028-02-29T08:00:00', timeZone: 'UTC', rrule: null },
];

interface Lease {
  holder: number;
  until: number;
}

/** A schedule in a database that two orchestrators use: each transaction is all or nothing, and needs its lease. */
function createWorld(recurrence: Recurrence) {
  const occurrences = occurrencesOf(recurrence);
  const from = Date.parse(`${recurrence.startTime}Z`) - 2 * DAY_MS;
  const world = {
    now: from,
    lease: undefined as Lease | undefined,
    state: { status: 'active', nextAt: occurrences.after(from), failures: 0, pausedBy: null } as ScheduleState,
    runs: [] as { dueAt: number; at: number; isOpen: boolean }[],
    skipped: [] as number[],
    told: 0,
  };
  const apply = (event: ScheduleEvent): void => {
    const { state, effects } = step(world.state, event);
    world.state = state;
    for (const effect of effects) perform(effect);
  };
  const perform = (effect: ScheduleEffect): void => {
    if (effect.do === 'start') world.runs.push({ dueAt: effect.dueAt, at: world.now, isOpen: true });
    else if (effect.do === 'skip') world.skipped.push(effect.dueAt);
    else world.told += 1;
  };
  const isBusy = (): boolean => world.runs.some(({ isOpen }) => isOpen);
  return {
    world,
    occurrences,
    claim(holder: number): void {
      const { lease, state, now } = world;
      const isDue = state.nextAt !== null && state.nextAt <= now;
      if (isDue && (lease === undefined || lease.until < now)) world.lease = { holder, until: now + LEASE_MS };
    },
    /** A killed holder commits nothing. */
    commit(holder: number, isKilled: boolean): void {
      if (isKilled || world.lease?.holder !== holder) return;
      apply({ type: 'due', now: world.now, next: occurrences.after(world.now), isBusy: isBusy() });
      world.lease = undefined;
    },
    end(outcome: RunOutcome): void {
      const open = world.runs.find(({ isOpen }) => isOpen);
      if (open === undefined) return;
      open.isOpen = false;
      apply({ type: 'run ended', outcome });
    },
    pause: () => apply({ type: 'pause' }),
    resume: () => apply({ type: 'resume', next: occurrences.after(world.now) }),
  };
}

type World = ReturnType<typeof createWorld>;
type Command = (world: World) => void;

const holder = fc.constantFrom(1, 2);
const commands: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.integer({ min: 1, max: 600 }).map(
      (n): Command =>
        ({ world }) =>
          void (world.now += n * MINUTE_MS),
    ),
  },
  // Downtime.
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 6 }).map(
      (n): Command =>
        ({ world }) =>
          void (world.now += n * DAY_MS),
    ),
  },
  {
    weight: 6,
    arbitrary: holder.map(
      (one): Command =>
        (world) =>
          world.claim(one),
    ),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(holder, fc.boolean()).map(
      ([one, isKilled]): Command =>
        (world) =>
          world.commit(one, isKilled),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.constantFrom<RunOutcome>('completed', 'failed', 'failed', 'stopped').map(
      (outcome): Command =>
        (world) =>
          world.end(outcome),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Command>((world) => world.pause()) },
  { weight: 1, arbitrary: fc.constant<Command>((world) => world.resume()) },
);

function checkAlways({ world, occurrences }: World): void {
  const handled = [...world.runs.map(({ dueAt }) => dueAt), ...world.skipped].toSorted((a, b) => a - b);
  // Once each, and only at times of the rule.
  expect(new Set(handled).size).toBe(handled.length);
  for (const dueAt of handled) expect(occurrences.after(dueAt - 1)).toBe(dueAt);
  for (const { dueAt, at } of world.runs) expect(dueAt).toBeLessThanOrEqual(at);
  expect(world.runs.filter(({ isOpen }) => isOpen).length).toBeLessThanOrEqual(1);
  const { status, nextAt, pausedBy } = world.state;
  expect({ hasNext: nextAt !== null, isPaused: pausedBy !== null }).toEqual({
    hasNext: status === 'active',
    isPaused: status === 'paused',
  });
}

const history = fc.array(commands, { minLength: 5, maxLength: 120 });

describe('the state of a schedule', () => {
  it('starts each due time at most once, whatever two orchestrators, kills and downtime do', () => {
    fc.assert(
      fc.property(fc.constantFrom(...RECURRENCES), history, (recurrence, run) => {
        const world = createWorld(recurrence);
        for (const command of run) {
          command(world);
          checkAlways(world);
        }
        expect(world.world.runs.length + world.world.skipped.length).toBeLessThanOrEqual(run.length);
      }),
      { numRuns: 150 },
    );
  });

  it('makes up for a downtime with one run, and continues with the first time after it', () => {
    fc.assert(
      fc.property(fc.constantFrom(...RECURRENCES), fc.integer({ min: 1, max: 40 }), (recurrence, days) => {
        const world = createWorld(recurrence);
        const first = world.world.state.nextAt ?? 0;
        world.world.now = first + days * DAY_MS;
        for (let n = 0; n < 3; n += 1) {
          world.claim(1);
          world.commit(1, false);
        }
        expect(world.world.runs.map(({ dueAt }) => dueAt)).toEqual([first]);
        expect(world.world.state.nextAt).toBe(world.occurrences.after(world.world.now));
      }),
    );
  });

  it('never misses a time while an orchestrator works, even if each holder is killed once before its commit', () => {
    fc.assert(
      fc.property(fc.constantFrom(...RECURRENCES), (recurrence) => {
        const world = createWorld(recurrence);
        const expected: number[] = [];
        for (let n = 0; n < 12 && world.world.state.nextAt !== null; n += 1) {
          expected.push(world.world.state.nextAt);
          world.world.now = world.world.state.nextAt;
          world.claim(1);
          world.commit(1, true);
          world.claim(2);
          world.commit(2, false);
          expect(world.world.runs).toHaveLength(n);
          world.world.now += LEASE_MS + 1;
          world.claim(2);
          world.commit(2, false);
          world.end('completed');
        }
        expect(world.world.runs.map(({ dueAt }) => dueAt)).toEqual(expected);
        expect(expected.length).toBeGreaterThan(0);
      }),
    );
  });

  it('pauses after five failures in a row, tells of it once, and begins to count again when it is resumed', () => {
    const active: ScheduleState = { status: 'active', nextAt: 1, failures: 0, pausedBy: null };
    let state = active;
    const effects: ScheduleEffect[] = [];
    const end = (outcome: RunOutcome): void => {
      const ended = step(state, { type: 'run ended', outcome });
      state = ended.state;
      effects.push(...ended.effects);
    };
    for (let n = 1; n < LIMITS.scheduleFailures; n += 1) end('failed');
    end('stopped');
    expect(state.status).toBe('active');
    end('completed');
    for (let n = 1; n < LIMITS.scheduleFailures; n += 1) end('failed');
    expect(effects).toEqual([]);
    end('failed');
    expect(state).toEqual({ status: 'paused', nextAt: null, failures: LIMITS.scheduleFailures, pausedBy: 'failures' });
    end('failed');
    expect(effects).toEqual([{ do: 'tell of pause' }]);
    expect(step(state, { type: 'resume', next: 9 }).state).toEqual({ ...active, nextAt: 9 });
  });

  it('is active or paused for a trigger, without times', () => {
    const active: ScheduleState = { status: 'active', nextAt: null, failures: 0, pausedBy: null };
    const event = fc.constantFrom<ScheduleEvent>(
      { type: 'run ended', outcome: 'failed' },
      { type: 'run ended', outcome: 'completed' },
      { type: 'pause' },
      { type: 'reopen' },
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        let state = active;
        for (const one of events) {
          state = step(state, one).state;
          expect(state.nextAt).toBeNull();
          expect(state.status === 'paused').toBe(state.pausedBy !== null);
          expect(state.status).not.toBe('finished');
        }
        expect(step(step(state, { type: 'pause' }).state, { type: 'reopen' }).state).toEqual(active);
      }),
    );
  });

  it('passes over a time while the previous run has not ended', () => {
    const active: ScheduleState = { status: 'active', nextAt: 5, failures: 0, pausedBy: null };
    const { state, effects } = step(active, { type: 'due', now: 6, next: 9, isBusy: true });
    expect({ state, effects }).toEqual({ state: { ...active, nextAt: 9 }, effects: [{ do: 'skip', dueAt: 5 }] });
  });

  it('stays paused when its times change, and begins again if it had finished', () => {
    const paused: ScheduleState = { status: 'paused', nextAt: null, failures: 0, pausedBy: 'user' };
    expect(step(paused, { type: 'changed', next: 9 }).state).toEqual(paused);
    const finished: ScheduleState = { status: 'finished', nextAt: null, failures: 0, pausedBy: null };
    expect(step(finished, { type: 'changed', next: 9 }).state).toMatchObject({ status: 'active', nextAt: 9 });
  });
});
