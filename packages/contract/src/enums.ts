import { z } from 'zod';
import { CATALOGUE_IDS } from './catalogue-ids.js';

export const RuntimeStatus = z.enum(['provisioning', 'ready', 'offline', 'failed']).meta({
  id: 'RuntimeStatus',
  description:
    '`provisioning`: the agents are being started. `ready`: they can answer. `offline`: they are suspended, until the next message starts them, or do not respond. `failed`: they did not start, and an operator has to act.',
});
export type RuntimeStatus = z.output<typeof RuntimeStatus>;

export const RuntimePhase = z.enum(['Pending', 'Progressing', 'Ready', 'Error']).meta({
  id: 'RuntimePhase',
  description:
    'The coarse state behind the status: nothing runs (`Pending`), the agents start or restart (`Progressing`), run (`Ready`), or cannot start (`Error`).',
});
export type RuntimePhase = z.output<typeof RuntimePhase>;

export const AgentStatus = z
  .enum(['online', 'reading', 'thinking', 'writing', 'pending', 'error', 'offline'])
  .meta({ id: 'AgentStatus', description: 'The live status, as in `agent.status` events.' });
export type AgentStatus = z.output<typeof AgentStatus>;

export const AgentRouteStatus = z.enum(['online', 'busy', 'pending', 'error', 'offline']).meta({
  id: 'AgentRouteStatus',
  description: 'The reduced status of agent routes: reading, thinking and writing are `busy`.',
});
export type AgentRouteStatus = z.output<typeof AgentRouteStatus>;

export const AgentDataStatus = z.enum(['online', 'offline', 'busy']).meta({
  id: 'AgentDataStatus',
  description:
    'The status of an agent inside a message: `busy` if it works on something, `offline` if it cannot answer.',
});
export type AgentDataStatus = z.output<typeof AgentDataStatus>;

export const AgentModel = z.enum(CATALOGUE_IDS).meta({
  id: 'AgentModel',
  description:
    'A model by capability rather than vendor: `flash` is the fastest, `opus` the most capable, `sonnet` in between. `GET /v1/models` describes them.',
});
export type AgentModel = z.output<typeof AgentModel>;

export const ResponseLength = z.enum(['auto', 'short', 'medium', 'long']).meta({
  id: 'ResponseLength',
  description: 'How long answers should be; with `auto` the agent decides by the question.',
});
export type ResponseLength = z.output<typeof ResponseLength>;

export const ConversationType = z.enum(['swarm', 'agent']).meta({
  id: 'ConversationType',
  description: '`swarm`: with all agents, led by the manager. `agent`: with one agent only.',
});
export type ConversationType = z.output<typeof ConversationType>;

export const MessageRole = z
  .enum(['user', 'agent', 'system'])
  .meta({ id: 'MessageRole', description: 'Who wrote a message: the user, an agent, or the platform (`system`).' });
export type MessageRole = z.output<typeof MessageRole>;

export const MessageStatus = z
  .enum(['pending', 'sent', 'delivered', 'read', 'failed', 'incomplete', 'silent', 'delegated'])
  .meta({
    id: 'MessageStatus',
    description:
      'Of a user message: `sent`, `delivered` to the agents, `read` by them. Of a reply: `pending` while it is written, then `delivered`, `failed`, `incomplete` (a part of it was written), `silent` (the agent has nothing to add) or `delegated` (another agent continues).',
  });
export type MessageStatus = z.output<typeof MessageStatus>;

export const ListedMessageStatus = z.enum(['pending', 'delivered', 'failed']).meta({
  id: 'ListedMessageStatus',
  description:
    'The status of a message in three values; `extended_status` has the exact status. A reply that is `silent`, or `delegated` without a ' +
    'text, has a fixed sentence as its text.',
});
export type ListedMessageStatus = z.output<typeof ListedMessageStatus>;

const LISTED: Record<MessageStatus, ListedMessageStatus> = {
  pending: 'pending',
  sent: 'delivered',
  delivered: 'delivered',
  read: 'delivered',
  silent: 'delivered',
  delegated: 'delivered',
  failed: 'failed',
  incomplete: 'failed',
};
/** The `status` that belongs to this `extended_status`. */
export const listedStatus = (exact: MessageStatus): ListedMessageStatus => LISTED[exact];

export const MessageContentType = z
  .enum(['text', 'action_card', 'tool_status', 'system', 'loading', 'delegation', 'artifact', 'workflow'])
  .meta({ id: 'MessageContentType', description: 'Which fields a content has. Clients send only `text`.' });
export type MessageContentType = z.output<typeof MessageContentType>;

export const AgentRole = z.enum(['manager', 'sub-agent']).meta({
  id: 'AgentRole',
  description: 'The manager answers for the swarm and delegates; sub-agents are specialists.',
});
export type AgentRole = z.output<typeof AgentRole>;

export const DelegationStatus = z
  .enum(['running', 'completed', 'failed'])
  .meta({ id: 'DelegationStatus', description: 'How far a task is that one agent gave to another.' });
export type DelegationStatus = z.output<typeof DelegationStatus>;

export const AttachmentType = z.enum(['image', 'video', 'audio', 'file']).meta({
  id: 'AttachmentType',
  description: 'How to show a file, detected from its content; `file` if it is neither a picture nor media.',
});
export type AttachmentType = z.output<typeof AttachmentType>;

export const ActionStyle = z.enum(['primary', 'secondary', 'destructive']).meta({
  id: 'ActionStyle',
  description: 'How to draw a button: `primary` is recommended, `destructive` cannot be undone.',
});
export type ActionStyle = z.output<typeof ActionStyle>;

export const ToolPermission = z.enum(['allow', 'ask', 'deny']).meta({
  id: 'ToolPermission',
  description: 'Whether an agent may use a tool: always, after an approval of each call, or never.',
});
export type ToolPermission = z.output<typeof ToolPermission>;

export const FormFieldType = z
  .enum(['text', 'email', 'url', 'date', 'date_time', 'number', 'integer', 'boolean', 'choice', 'choices'])
  .meta({
    id: 'FormFieldType',
    description:
      'What a field of a card takes: `choice` is one of its options, `choices` any number of them. A `date` is written as 2026-11-20, a ' +
      '`date_time` as 2026-11-20T20:00:00Z.',
  });
export type FormFieldType = z.output<typeof FormFieldType>;

export const ToolState = z
  .enum(['running', 'completed', 'failed'])
  .meta({ id: 'ToolState', description: 'How far a call is.' });
export type ToolState = z.output<typeof ToolState>;

export const IntegrationItemType = z.enum(['tool', 'app']).meta({
  id: 'IntegrationItemType',
  description:
    '`tool`: agents have it without an account elsewhere. `app`: the user connects an account through OAuth.',
});
export type IntegrationItemType = z.output<typeof IntegrationItemType>;

export const IntegrationProvider = z
  .enum(['google_calendar', 'gmail', 'slack', 'jira', 'notion', 'asana', 'github', 'zoom'])
  .meta({ id: 'IntegrationProvider', description: 'The service whose account a user connects.' });
export type IntegrationProvider = z.output<typeof IntegrationProvider>;

export const AgentSkill = z
  .enum([
    'web_search',
    'analysis',
    'fact_check',
    'news',
    'sources',
    'coding',
    'writing',
    'translation',
    'summarization',
    'planning',
  ])
  .meta({ id: 'AgentSkill', description: 'What an agent is good at.' });
export type AgentSkill = z.output<typeof AgentSkill>;

/** An extension: the specification does not define it. */
export const ArtifactStatus = z.enum(['draft', 'final']).meta({
  id: 'ArtifactStatus',
  description: 'Whether the agent still works on the version (`draft`) or has finished it.',
});
export const WorkflowStatus = z.enum(['running', 'completed', 'failed', 'cancelled']).meta({
  id: 'WorkflowStatus',
  description: 'All but `running` are final. `failed`: a step failed that others need.',
});
export const WorkflowStepStatus = z.enum(['pending', 'running', 'completed', 'failed']).meta({
  id: 'WorkflowStepStatus',
  description: '`pending` steps wait for others. A step that was cancelled, or needs a failed one, is `failed`.',
});

export const ScheduleStatus = z.enum(['active', 'paused', 'finished']).meta({
  id: 'ScheduleStatus',
  description: '`finished`: the rule has no further time.',
});
export const SchedulePause = z.enum(['user', 'failures']).meta({
  id: 'SchedulePause',
  description: 'What paused a schedule or a trigger: the user, or too many failed runs in a row.',
});
export const ScheduleRunStatus = z.enum(['running', 'waiting', 'completed', 'failed', 'stopped', 'skipped']).meta({
  id: 'ScheduleRunStatus',
  description:
    '`waiting`: for a decision of the user on a card. `stopped`: by the user, or the card was closed without a decision. `skipped`: the ' +
    'previous run had not ended.',
});

export const TriggerStatus = z.enum(['active', 'paused']).meta({
  id: 'TriggerStatus',
  description: 'A `paused` trigger refuses requests with `trigger_paused`.',
});
export const TriggerRunStatus = z.enum(['queued', 'running', 'waiting', 'completed', 'failed', 'stopped']).meta({
  id: 'TriggerRunStatus',
  description:
    '`queued`: an earlier run has not ended. `waiting`: for a decision of the user on a card. `stopped`: by the user, or the card was ' +
    'closed without a decision.',
});

export const PushService = z.enum(['fcm', 'apns', 'web_push']).meta({
  id: 'PushService',
  description:
    'Who delivers push notifications: Firebase Cloud Messaging (`fcm`), Apple without Firebase (`apns`), or the push service of a browser (`web_push`).',
});
export type PushService = z.output<typeof PushService>;

/** Socket events that the log stores. */
export const DURABLE_EVENTS = [
  'message.new',
  'message.updated',
  'message.done',
  'message.deleted',
  'workspace.updated',
  'conversation.new',
  'conversation.updated',
  'conversation.deleted',
] as const;
export type DurableEventName = (typeof DURABLE_EVENTS)[number];
