import type { Trigger, TriggerRun } from '../resources/trigger.js';
import { EXAMPLE, inWorkspace, MORNING } from './examples.js';

export const triggerRun: TriggerRun = {
  id: '01931a5e-7c00-7000-8000-000000000014',
  received_at: '2026-11-20T07:00:00.000Z',
  status: 'completed',
  message_id: EXAMPLE.messageId,
  error_code: null,
  total_tokens: 3_120,
  cost_micros: 6_900,
  started_at: '2026-11-20T07:00:00.100Z',
  finished_at: '2026-11-20T07:00:19.000Z',
};

export const trigger: Trigger = {
  id: EXAMPLE.triggerId,
  title: 'New issues',
  prompt: 'Read the new issue, and name duplicates that you know.',
  agent_id: EXAMPLE.agentId,
  conversation_id: EXAMPLE.conversationId,
  status: 'active',
  paused_by: null,
  failures: 0,
  token_limit: null,
  is_signed: true,
  last_run: triggerRun,
  created_at: MORNING,
  updated_at: MORNING,
};

export const triggerUrl = 'https://api.example.com/v1/hooks/q3Jf0cV7mXkB1hT9sWnLr4uYdG6eZ8aPoKiCxM2vNwE';

export const inTrigger = { ...inWorkspace, id: EXAMPLE.triggerId };
