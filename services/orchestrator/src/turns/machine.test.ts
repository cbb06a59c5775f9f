import { describe, expect, it } from '@jest/globals';
import type { MessageErrorCode } from '@uswarm/contract';
import { type Effect, LEASED, type LeasedTurn, type MachineEvent, step, type Step } from './machine.js';

const NOW = 1_000_000_000;
const MINUTE_MS = 60_000;
const DEADLINE_AT = NOW + 30 * MINUTE_MS;
const QUEUED: LeasedTurn = {
  status: 'queued',
  isStopRequested: false,
  isUserBanned: false,
  isBackground: false,
  hasReply: false,
  isFollowed: false,
  hasInstance: false,
  waitsUntil: 0,
  runtime: 'ready',
  healthySince: NOW,
};
const RUNNING: LeasedTurn = { ...QUEUED, status: 'running', hasReply: true, hasInstance: true };

const lease = (turn: LeasedTurn, more: { failures?: number; attempts?: number; now?: number } = {}): Step =>
  step(LEASED, { type: 'leased', turn, failures: 0, attempts: 1, now: NOW, ...more });

/** Takes the events after the lease of a running turn. */
const follow = (...events: MachineEvent[]): Step =>
  [{ type: 'begun', deadlineAt: DEADLINE_AT, now: NOW } as const, ...events].reduce(
    ({ state }, event) => step(state, event),
    lease(RUNNING),
  );

const CHECKED: MachineEvent = { type: 'checked', isStopRequested: false, now: NOW };
const CONNECTED: MachineEvent[] = [
  CHECKED,
  { type: 'found', runtime: 'ready', events: 0, now: NOW },
  { type: 'connected', isStopRequested: false },
];
const interrupted = (events: number, now: number): MachineEvent => ({ type: 'interrupted', events, now });
const finish = (code: MessageErrorCode): Effect => ({ do: 'finish', as: 'failed', code });

describe('a leased turn', () => {
  it.each<[string, LeasedTurn, { failures?: number; attempts?: number; now?: number }, Effect]>([
    [
      'fails after five internal errors',
      QUEUED,
      { failures: 5 },
      { do: 'abandon', as: 'failed', code: 'internal_error' },
    ],
    ['is prepared after four internal errors', QUEUED, { failures: 4 }, { do: 'prepare' }],
    ['is not prepared again if it has waited for the tokens of other turns', QUEUED, { attempts: 2 }, { do: 'begin' }],
    [
      'fails if its runtime is not ready after ten minutes',
      { ...QUEUED, runtime: 'not ready' },
      { now: NOW + 11 * MINUTE_MS },
      { do: 'abandon', as: 'failed', code: 'runtime_not_ready' },
    ],
    [
      'ends without a runtime if its user is banned',
      { ...QUEUED, isUserBanned: true, runtime: 'not ready' },
      {},
      { do: 'abandon', as: 'stopped', code: 'user_banned' },
    ],
    [
      'ends without a runtime if it is a task that was stopped',
      { ...QUEUED, isBackground: true, hasReply: true, isStopRequested: true, runtime: 'suspended' },
      {},
      { do: 'abandon', as: 'stopped', code: 'stopped' },
    ],
    [
      'begins without a runtime if it runs and was stopped',
      { ...RUNNING, isStopRequested: true, runtime: 'suspended' },
      {},
      { do: 'begin' },
    ],
  ])('%s', (_what, turn, more, effect) => {
    expect(lease(turn, more).effects).toEqual([effect]);
  });

  it.each<[string, Partial<LeasedTurn>, number]>([
    ['its runtime is not ready yet', { runtime: 'not ready' }, 90_000],
    ['its runtime is suspended', { runtime: 'suspended', healthySince: 0 }, 90_000],
    ['it runs and its runtime is suspended', { ...RUNNING, runtime: 'suspended' }, 90_000],
    ['its model provider wants it to wait', { ...RUNNING, waitsUntil: NOW + 5_000 }, 5_000],
  ])('is released while %s', (_why, turn, againInMs) => {
    expect(lease({ ...QUEUED, ...turn }).state).toEqual({ at: 'ended', result: { againInMs } });
  });

  it.each<LeasedTurn['status']>(['done', 'failed', 'stopped'])('is not changed if it is already %s', (status) => {
    expect(lease({ ...QUEUED, status })).toEqual({ state: { at: 'ended', result: { done: true } }, effects: [] });
  });
});

describe('a turn in a runtime', () => {
  it('fails if its runtime is unreachable for two minutes', () => {
    const again: MachineEvent[] = [interrupted(3, NOW), { type: 'done' }, ...CONNECTED];
    expect(follow(...CONNECTED, ...again, interrupted(3, NOW + 2 * MINUTE_MS)).state.at).toBe('waiting');
    expect(follow(...CONNECTED, ...again, interrupted(3, NOW + 2 * MINUTE_MS + 1)).effects).toContainEqual(
      finish('runtime_unreachable'),
    );
  });

  const found = (now: number): MachineEvent => ({ type: 'found', runtime: 'not ready', events: 0, now });

  it.each([
    [2, true],
    [10, false],
  ])('waits at most %d minutes for another pod if a runtime has begun it: %s', (minutes, hasInstance) => {
    const afterWait = (ms: number): Step => {
      const begun = step(lease({ ...RUNNING, hasInstance }).state, {
        type: 'begun',
        deadlineAt: DEADLINE_AT,
        now: NOW,
      });
      const events = [CHECKED, found(NOW), { type: 'done' } as const, CHECKED, found(NOW + ms)];
      return events.reduce(({ state }, event) => step(state, event), begun);
    };
    expect(afterWait(minutes * MINUTE_MS).state.at).toBe('waiting');
    expect(afterWait(minutes * MINUTE_MS + 1).effects).toContainEqual(finish('runtime_unreachable'));
  });

  const LOST: MachineEvent[] = [...CONNECTED, { type: 'lost' }, CHECKED];

  it('may be unreachable again after it was started again, although fewer events have arrived', () => {
    const restarted: MachineEvent[] = [
      { type: 'limit checked', limit: undefined },
      { type: 'restarted', hasGeneration: true },
    ];
    const outage: MachineEvent[] = [...CONNECTED, interrupted(3, NOW), { type: 'done' }];
    const later = NOW + 5 * MINUTE_MS;
    expect(follow(...outage, ...LOST, ...restarted, ...CONNECTED, interrupted(0, later)).state.at).toBe('waiting');
  });

  it('is not started again after its runtime lost it if a limit is reached', () => {
    const limit = { scope: 'user', token_limit: 10, resets_at: '2026-12-01T00:00:00.000Z' } as const;
    expect(follow(...LOST, { type: 'limit checked', limit }).effects).toEqual([
      { do: 'note limit', limit },
      { do: 'finish', as: 'limited' },
    ]);
  });

  it('makes the runtime job due at its first interruption, and again after one with progress', () => {
    const dueAfter = (...events: MachineEvent[]): boolean =>
      follow(...CONNECTED, ...events).effects.some((effect) => effect.do === 'make runtime due');
    const resumed: MachineEvent[] = [{ type: 'done' }, ...CONNECTED];
    expect(dueAfter(interrupted(1, NOW))).toBe(true);
    expect(dueAfter(interrupted(1, NOW), ...resumed, interrupted(1, NOW))).toBe(false);
    expect(dueAfter(interrupted(1, NOW), ...resumed, interrupted(2, NOW))).toBe(true);
  });

  it('fails if it would wait beyond its deadline', () => {
    const postponed = (waitMs: number): Step => follow(...CONNECTED, { type: 'postponed', waitMs, now: NOW });
    expect(postponed(30 * MINUTE_MS).effects).toContainEqual(finish('model_rate_limited'));
    expect(postponed(30 * MINUTE_MS - 1).effects).toContainEqual({ do: 'postpone', waitMs: 30 * MINUTE_MS - 1 });
  });

  it('is cut off, and its runtime is told nothing more, if its deadline passes while an event is applied', () => {
    const applied = { events: 1, waitsFor: 1, isAttempt: false, isStopped: false, isOverLimit: false } as const;
    const overdue = follow(...CONNECTED, { type: 'applied', ...applied, now: DEADLINE_AT });
    expect(overdue.effects.map((effect) => effect.do)).toEqual([
      'leave',
      'forget what is known',
      'make runtime due',
      'sleep',
    ]);
    const checked = step(step(overdue.state, { type: 'done' }).state, { ...CHECKED, now: DEADLINE_AT });
    expect(checked.effects).toEqual([{ do: 'stop in runtime' }, finish('turn_deadline_exceeded')]);
  });
});
