import { z } from 'zod';

/** The enumerations of the API. */

export const RuntimeStatus = z.enum(['provisioning', 'ready', 'offline', 'failed']).meta({ id: 'RuntimeStatus' });
export type RuntimeStatus = z.output<typeof RuntimeStatus>;

export const RuntimePhase = z.enum(['Pending', 'Progressing', 'Ready', 'Error']).meta({ id: 'RuntimePhase' });
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

export const AgentDataStatus = z.enum(['online', 'offline', 'busy']).meta({ id: 'AgentDataStatus' });
export type AgentDataStatus = z.output<typeof AgentDataStatus>;

export const AgentModel = z.enum(['flash', 'sonnet', 'opus']).meta({ id: 'AgentModel' });
export type AgentModel = z.output<typeof AgentModel>;

export const ResponseLength = z.enum(['auto', 'short', 'medium', 'long']).meta({ id: 'ResponseLength' });
export type ResponseLength = z.output<typeof ResponseLength>;

export const ConversationType = z.enum(['swarm', 'agent']).meta({ id: 'ConversationType' });
export type ConversationType = z.output<typeof ConversationType>;

export const MessageRole = z.enum(['user', 'agent', 'system']).meta({ id: 'MessageRole' });
export type MessageRole = z.output<typeof MessageRole>;

export const MessageStatus = z
  .enum(['pending', 'sent', 'delivered', 'read', 'failed', 'incomplete', 'silent', 'delegated'])
  .meta({ id: 'MessageStatus' });
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
/** The `status` of a message with this `extended_status`. */
export const listedStatus = (exact: MessageStatus): ListedMessageStatus => LISTED[exact];

export const MessageContentType = z
  .enum(['text', 'action_card', 'tool_status', 'system', 'loading', 'delegation', 'artifact', 'workflow'])
  .meta({ id: 'MessageContentType' });
export type MessageContentType = z.output<typeof MessageContentType>;

export const AgentRole = z.enum(['manager', 'sub-agent']).meta({ id: 'AgentRole' });
export type AgentRole = z.output<typeof AgentRole>;

export const DelegationStatus = z.enum(['running', 'completed', 'failed']).meta({ id: 'DelegationStatus' });
export type DelegationStatus = z.output<typeof DelegationStatus>;

export const AttachmentType = z.enum(['image', 'video', 'audio', 'file']).meta({ id: 'AttachmentType' });
export type AttachmentType = z.output<typeof AttachmentType>;

export const ActionStyle = z.enum(['primary', 'secondary', 'destructive']).meta({ id: 'ActionStyle' });
export type ActionStyle = z.output<typeof ActionStyle>;

/** Whether an agent may use a tool: always, after an approval of each call, or never. */
export const ToolPermission = z.enum(['allow', 'ask', 'deny']).meta({ id: 'ToolPermission' });
export type ToolPermission = z.output<typeof ToolPermission>;

export const ToolState = z.enum(['running', 'completed', 'failed']).meta({ id: 'ToolState' });
export type ToolState = z.output<typeof ToolState>;

export const IntegrationItemType = z.enum(['tool', 'app']).meta({ id: 'IntegrationItemType' });
export type IntegrationItemType = z.output<typeof IntegrationItemType>;

export const IntegrationProvider = z
  .enum(['google_calendar', 'gmail', 'slack', 'jira', 'notion', 'asana', 'github', 'zoom'])
  .meta({ id: 'IntegrationProvider' });
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
  .meta({ id: 'AgentSkill' });
export type AgentSkill = z.output<typeof AgentSkill>;

/** An extension: the specification does not define it. */
export const ArtifactStatus = z.enum(['draft', 'final']).meta({ id: 'ArtifactStatus' });
export const WorkflowStatus = z.enum(['running', 'completed', 'failed', 'cancelled']).meta({ id: 'WorkflowStatus' });
export const WorkflowStepStatus = z
  .enum(['pending', 'running', 'completed', 'failed'])
  .meta({ id: 'WorkflowStepStatus' });
