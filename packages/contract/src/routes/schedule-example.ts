import type { Schedule, ScheduleRun } from '../resources/schedule.js';
import { EXAMPLE, inWorkspace, MORNING } from './examples.js';

export const scheduleRun: ScheduleRun = {
  id: '01931a5e-7c00-7000-8000-000000000011',
  due_at: '2026-11-20T07:00:00.000Z',
  is_manual: false,
  status: 'completed',
  message_id: EXAMPLE.messageId,
  error_code: null,
  total_tokens: 2_410,
  cost_micros: 5_300,
  started_at: '2026-11-20T07:00:12.000Z',
  finished_at: '2026-11-20T07:00:31.000Z',
};

export const schedule: Schedule = {
  id: EXAMPLE.scheduleId,
  title: 'Morning news',
  prompt: 'Summarize what is new about trains in Europe.',
  agent_id: EXAMPLE.agentId,
  conversation_id: EXAMPLE.conversationId,
  start_time: '2026-11-20T08:00:00',
  rrule: 'FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR',
  time_zone: 'Europe/Berlin',
  status: 'active',
  paused_by: null,
  next_run_at: '2026-11-23T07:00:00.000Z',
  failures: 0,
  token_limit: null,
  last_run: scheduleRun,
  created_at: MORNING,
  updated_at: MORNING,
};

export const inSchedule = { ...inWorkspace, id: EXAMPLE.scheduleId };
