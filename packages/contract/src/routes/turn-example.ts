import type { TurnStep, TurnSteps } from '../resources/turn-step.js';
import { EXAMPLE } from './examples.js';

const SUB_TURN = '01931a5e-7c00-7000-8000-00000000000f';
const agent = { id: EXAMPLE.agentId, name: 'Manager', slug: 'manager' };

const none = { model_call: null, text: null, tool_call: null, approval: null, delegation: null };
const times = (from: string, to: string | null) => ({
  started_at: `2026-11-20T${from}Z`,
  finished_at: to && `2026-11-20T${to}Z`,
});

const steps: TurnStep[] = [
  {
    ...none,
    type: 'model_call',
    id: 'model:1',
    ...times('08:30:00.200', '08:30:01.900'),
    model_call: {
      purpose: 'step',
      status: 'completed',
      provider: 'openai',
      model: 'gpt-5-mini',
      prompt_tokens: 1_840,
      cached_tokens: 1_536,
      completion_tokens: 96,
      reasoning_tokens: 32,
      estimated: false,
      cost_micros: 310,
    },
  },
  {
    ...none,
    type: 'text',
    id: 'text:1',
    ...times('08:30:01.900', '08:30:01.900'),
    text: { text: 'I will ask the Researcher.', truncated: false, message_id: null },
  },
  {
    ...none,
    type: 'tool_call',
    id: 'call:call-1',
    ...times('08:30:01.900', null),
    tool_call: {
      call_id: 'call-1',
      tool: 'delegate',
      status: 'running',
      arguments: '{"agent":"researcher","task":"Find three sources on green tea.","expected":"A list"}',
      arguments_truncated: false,
      result: null,
      result_truncated: false,
      receipt_id: null,
    },
  },
  {
    ...none,
    type: 'delegation',
    id: `delegation:${SUB_TURN}`,
    ...times('08:30:02.000', null),
    delegation: {
      call_id: 'call-1',
      workflow_id: null,
      turn_id: SUB_TURN,
      message_id: EXAMPLE.replyId,
      agent: { id: '01931a5e-7c00-7000-8000-000000000012', name: 'Researcher', slug: 'researcher' },
      task: 'Find three sources on green tea.',
      status: 'running',
    },
  },
  {
    ...none,
    type: 'approval',
    id: `approval:${EXAMPLE.cardId}`,
    ...times('08:30:02.000', '08:31:10.000'),
    approval: {
      call_id: 'call-2',
      message_id: EXAMPLE.cardId,
      status: 'approved',
      tokens: null,
      expires_at: '2026-11-21T08:30:02.000Z',
    },
  },
];

export const turnSteps: TurnSteps = {
  turn_id: EXAMPLE.turnId,
  conversation_id: EXAMPLE.conversationId,
  agent,
  status: 'running',
  error: null,
  delegated_by: null,
  task: null,
  created_at: '2026-11-20T08:30:00.000Z',
  started_at: '2026-11-20T08:30:00.100Z',
  finished_at: null,
  steps,
};
