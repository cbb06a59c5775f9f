import type { RunnableRow, StoredState } from '../../records/schedule-rows.js';
import type { ScheduleState } from './schedule-state.js';

export const stateOf = ({
  status,
  paused_by,
  next_at,
  failures,
}: Pick<RunnableRow, keyof StoredState>): ScheduleState => ({
  status,
  nextAt: next_at?.getTime() ?? null,
  failures,
  pausedBy: paused_by,
});

export const stored = ({ status, nextAt, failures, pausedBy }: ScheduleState): StoredState => ({
  status,
  paused_by: pausedBy,
  next_at: nextAt === null ? null : new Date(nextAt),
  failures,
});
