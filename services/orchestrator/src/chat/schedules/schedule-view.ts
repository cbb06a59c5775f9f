import type { Schedule, ScheduleRun } from '@uswarm/contract';
import type { ScheduleRow, ScheduleRunRow } from '../../records/schedule-rows.js';

export const runView = ({ schedule_id: _, due_at, started_at, finished_at, ...run }: ScheduleRunRow): ScheduleRun => ({
  id: run.id,
  due_at: due_at.toISOString(),
  is_manual: run.is_manual,
  // Only trigger runs are queued.
  status: run.status as ScheduleRun['status'],
  message_id: run.message_id,
  error_code: run.error_code,
  total_tokens: run.total_tokens,
  cost_micros: run.cost_micros,
  started_at: started_at.toISOString(),
  finished_at: finished_at?.toISOString() ?? null,
});

export const scheduleView = (row: ScheduleRow, lastRun: ScheduleRunRow | undefined): Schedule => ({
  id: row.id,
  title: row.title,
  prompt: row.prompt,
  agent_id: row.agent_id,
  conversation_id: row.conversation_id,
  start_time: row.start_time,
  rrule: row.rrule,
  time_zone: row.time_zone,
  status: row.status,
  paused_by: row.paused_by,
  next_run_at: row.next_at?.toISOString() ?? null,
  failures: row.failures,
  token_limit: row.token_limit,
  last_run: lastRun === undefined ? null : runView(lastRun),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});
