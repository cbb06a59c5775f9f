import type { Trigger, TriggerRun } from '@uswarm/contract';
import type { ScheduleRunRow, TriggerRow } from '../../records/schedule-rows.js';

/** Triggers skip no run, and are never finished. */
export const triggerRunView = ({ due_at, started_at, finished_at, ...run }: ScheduleRunRow): TriggerRun => ({
  id: run.id,
  received_at: due_at.toISOString(),
  status: run.status as TriggerRun['status'],
  message_id: run.message_id,
  error_code: run.error_code,
  total_tokens: run.total_tokens,
  cost_micros: run.cost_micros,
  started_at: run.status === 'queued' ? null : started_at.toISOString(),
  finished_at: finished_at?.toISOString() ?? null,
});

export const triggerView = (
  row: TriggerRow,
  { lastRun, isSigned }: { lastRun: ScheduleRunRow | undefined; isSigned: boolean },
): Trigger => ({
  id: row.id,
  title: row.title,
  prompt: row.prompt,
  agent_id: row.agent_id,
  conversation_id: row.conversation_id,
  status: row.status as Trigger['status'],
  paused_by: row.paused_by,
  failures: row.failures,
  token_limit: row.token_limit,
  is_signed: isSigned,
  last_run: lastRun === undefined ? null : triggerRunView(lastRun),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});
