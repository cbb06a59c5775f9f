import type { TurnRow } from '../src/turns/turns.store.js';
import type { LeasedJob } from '../src/platform/jobs/job-queue.js';

export const NOW = new Date();
export const JOB: LeasedJob = {
  kind: 'turn',
  subjectId: 't',
  workspaceId: 'w',
  leaseId: 'l',
  attempts: 1,
  failures: 0,
  takenOver: false,
};
export const QUEUED: TurnRow = {
  id: 't',
  workspace_id: 'w',
  conversation_id: 'c',
  agent_id: 'a',
  user_message_id: 'question',
  reply_message_id: null,
  status: 'queued',
  generation: 1,
  activity: null,
  runtime_instance: null,
  created_at: NOW,
  started_at: null,
  user_id: 'u',
  user_banned: false,
  stop_requested: false,
  resumes_message_id: null,
  repeats_from_message_id: 'question',
  shown_entries: 0,
  waits_until: null,
  usage_turn_id: 't',
  in_reply_to: 'question',
  task_depth: null,
  task_prompt: null,
  schedule_run_id: null,
  traceparent: null,
  agent_slug: 'manager',
};
