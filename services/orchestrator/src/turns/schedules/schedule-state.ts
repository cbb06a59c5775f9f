import { LIMITS } from '@uswarm/contract';

/**
 * The life of a user's schedule. Pure: workers and routes perform the effects in the transaction that stores the state.
 *
 *   state     | due               | run ended: failed       | pause  | resume          | changed
 *   active    | starts or skips   | paused after five       | paused | –               | active, or finished
 *   paused    | –                 | –                       | –      | active/finished | paused
 *   finished  | –                 | –                       | –      | –               | active, or finished
 *
 * A trigger has no times: it is active or paused, and `reopen` resumes it.
 *
 * A schedule is finished when no time is left. Downtime leaves one time that is due, and `next` is after now: what was
 * missed is made up for once.
 */
export interface ScheduleState {
  status: 'active' | 'paused' | 'finished';
  /** In ms; null unless it is active, and for triggers. */
  nextAt: number | null;
  /** Failed runs in a row. */
  failures: number;
  pausedBy: 'user' | 'failures' | null;
}

export type RunOutcome = 'completed' | 'failed' | 'stopped';

export type ScheduleEvent =
  /** `next`: the first time after `now`. `isBusy`: the previous run has not ended. */
  | { type: 'due'; now: number; next: number | null; isBusy: boolean }
  | { type: 'run ended'; outcome: RunOutcome }
  | { type: 'pause' }
  | { type: 'resume'; next: number | null }
  | { type: 'reopen' }
  | { type: 'changed'; next: number | null };

export type ScheduleEffect = { do: 'start'; dueAt: number } | { do: 'skip'; dueAt: number } | { do: 'tell of pause' };

export interface ScheduleStep {
  state: ScheduleState;
  effects: readonly ScheduleEffect[];
}

const planned = (state: ScheduleState, next: number | null): ScheduleState => ({
  ...state,
  status: next === null ? 'finished' : 'active',
  nextAt: next,
  pausedBy: null,
});

const paused = (state: ScheduleState, pausedBy: 'user' | 'failures'): ScheduleState => ({
  ...state,
  status: 'paused',
  nextAt: null,
  pausedBy,
});

function ended(state: ScheduleState, outcome: RunOutcome): ScheduleStep {
  if (outcome === 'stopped') return { state, effects: [] };
  const failures = outcome === 'completed' ? 0 : state.failures + 1;
  const counted = { ...state, failures };
  if (state.status !== 'active' || failures < LIMITS.scheduleFailures) return { state: counted, effects: [] };
  return { state: paused(counted, 'failures'), effects: [{ do: 'tell of pause' }] };
}

export function step(state: ScheduleState, event: ScheduleEvent): ScheduleStep {
  const unchanged: ScheduleStep = { state, effects: [] };
  switch (event.type) {
    case 'due': {
      const { nextAt: dueAt } = state;
      if (state.status !== 'active' || dueAt === null || dueAt > event.now) return unchanged;
      return { state: planned(state, event.next), effects: [{ do: event.isBusy ? 'skip' : 'start', dueAt }] };
    }
    case 'run ended':
      return ended(state, event.outcome);
    case 'pause':
      return state.status === 'active' ? { state: paused(state, 'user'), effects: [] } : unchanged;
    case 'resume':
      return state.status === 'paused'
        ? { state: { ...planned(state, event.next), failures: 0 }, effects: [] }
        : unchanged;
    case 'reopen':
      return state.status === 'paused'
        ? { state: { ...state, status: 'active', pausedBy: null, failures: 0 }, effects: [] }
        : unchanged;
    case 'changed':
      return state.status === 'paused' ? unchanged : { state: planned(state, event.next), effects: [] };
  }
}
