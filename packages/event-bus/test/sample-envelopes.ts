import type {
  AgentData,
  Conversation,
  DurableEventName,
  EphemeralEventName,
  MessageContent,
  MessageData,
  OutgoingEnvelope,
  ServerEventPayload,
} from '@uswarm/contract';
import { workspaceExample } from '@uswarm/contract';

const id = (suffix: string): string => `01931a5e-7c00-7000-8000-${suffix.padStart(12, '0')}`;
const WORKSPACE = workspaceExample.id;
const AT = '2026-11-24T12:00:00.000Z';

const agent: AgentData = {
  id: id('a1'),
  name: 'Ada',
  role: 'manager',
  slug: 'ada',
  avatar: 'https://assets.example.org/ada.png',
  status: 'busy',
};

/** A content of each type that release 0.2 knows. */
export const CONTENTS_OF_02: readonly MessageContent[] = [
  { type: 'text', text: 'hello' },
  {
    type: 'action_card',
    title: 'Send?',
    description: 'One message',
    actions: [{ id: 'yes', label: 'Yes', style: 'primary' }],
    selected_action_id: null,
  },
  { type: 'tool_status', tool: 'web_search_tool', description: 'Searching', state: 'running' },
  { type: 'system', text: 'A notice' },
  { type: 'loading' },
  { type: 'delegation', from: agent, to: null, status: 'running', task_preview: 'Look it up' },
  {
    type: 'artifact',
    artifact_id: id('f1'),
    title: 'Report',
    version: 1,
    status: 'draft',
    agent_slug: 'ada',
    content_preview: '# Report',
  },
  {
    type: 'workflow',
    workflow_id: id('b1'),
    workflow_name: 'Plan',
    execution_id: id('b2'),
    status: 'running',
    steps: [{ step_id: 's1', name: 'First', status: 'running', agent_slug: 'ada', started_at: AT, finished_at: null }],
  },
];

const message = (content: MessageContent): MessageData => ({
  id: id('e1'),
  conversation_id: id('c1'),
  role: 'agent',
  content,
  created_at: AT,
  updated_at: AT,
  position: '0000000000000001b',
  error: { code: 'stopped', retryable: true, message: 'The reply was stopped.' },
  edited_at: AT,
  local_id: 'l1',
  agent,
  attachments: [
    {
      id: id('f2'),
      url: 'https://x.example',
      type: 'file',
      name: 'a.txt',
      size: 1,
      mime_type: 'text/plain',
      duration: null,
    },
  ],
  mentions: [{ agent_id: id('a1'), agent_name: 'Ada', offset: 0, length: 3 }],
  status: 'failed',
  extended_status: 'incomplete',
});

const conversation = (content: MessageContent): Conversation => ({
  id: id('c1'),
  type: 'agent',
  title: 'A title',
  created_at: AT,
  updated_at: AT,
  unread_count: 2,
  last_read_message_id: id('e1'),
  agent: { ...agent, status: 'busy' },
  last_message: message(content),
});

type Payloads = { [Name in DurableEventName | EphemeralEventName]: ServerEventPayload<Name> };

/** A payload of each event with all optional fields. */
function payloads(content: MessageContent): Payloads {
  const durable = { workspace_id: WORKSPACE, seq: 7 };
  const ephemeral = { workspace_id: WORKSPACE };
  const reply = { message_id: id('e1'), conversation_id: id('c1'), agent_id: id('a1') };
  return {
    'message.new': { ...durable, message: message(content) },
    'message.updated': { ...durable, message: message(content) },
    'message.done': { ...durable, ...reply, status: 'failed', error: message(content).error },
    'message.deleted': { ...durable, conversation_id: id('c1'), message_id: id('e1') },
    'workspace.updated': { ...durable, workspace: workspaceExample },
    'conversation.new': { ...durable, conversation: conversation(content) },
    'conversation.updated': { ...durable, conversation: conversation(content) },
    'conversation.deleted': { ...durable, conversation_id: id('c1') },
    'message.chunk': { ...ephemeral, ...reply, chunk: 'text', chunk_seq: 3, generation: 2, offset: 10 },
    'agent.tool': {
      ...ephemeral,
      agent_id: id('a1'),
      conversation_id: id('c1'),
      tool: 'web_search_tool',
      status: 'done',
      query: 'weather',
      outcome: 'completed',
    },
    'agent.status': {
      ...ephemeral,
      agent_id: id('a1'),
      conversation_id: id('c1'),
      status: 'writing',
      expires_in_ms: 5_000,
    },
    'agent.delegation': { ...ephemeral, message_id: id('e1'), conversation_id: id('c1'), status: 'running' },
  };
}

const EPHEMERAL = new Set<string>(['message.chunk', 'agent.tool', 'agent.status', 'agent.delegation']);

/** An event envelope with `content` as its message content. */
export function envelopeOf(
  event: DurableEventName | EphemeralEventName,
  content: MessageContent = { type: 'text', text: 'hello' },
): Exclude<OutgoingEnvelope, { kind: 'skip' }> {
  const header = { v: 2, workspace_id: WORKSPACE, epoch: 'e0', at: AT, event, payload: payloads(content)[event] };
  const envelope = EPHEMERAL.has(event)
    ? { ...header, kind: 'ephemeral', after_seq: 6 }
    : { ...header, kind: 'durable', seq: 7, subject_id: id('e1'), rev: 7 };
  return envelope as Exclude<OutgoingEnvelope, { kind: 'skip' }>;
}
