import { z } from 'zod';
import {
  ActionStyle,
  ArtifactStatus,
  DelegationStatus,
  ListedMessageStatus,
  MessageRole,
  MessageStatus,
  ToolState,
  WorkflowStatus,
  WorkflowStepStatus,
} from '../enums.js';
import { LIMITS } from '../limits.js';
import { AgentData } from './agent.js';
import { MessageError } from './message-error.js';
import { Id, Rev, Timestamp } from './primitives.js';
import { Attachment } from './upload.js';

/** A kind of content. Client generators derive the class name from its id. */
function kind<Fields extends z.ZodRawShape>(id: string, fields: Fields) {
  return z.strictObject(fields).meta({ id });
}

const text = kind('TextContent', {
  type: z.literal('text'),
  text: z.string().meta({
    description:
      'From an agent: untrusted Markdown. Images of other hosts are not images in it, and the text of a link to another host ends with ' +
      'the host. Do not render HTML, and do not load links automatically, for example for previews. From the user: plain text, unchanged.',
  }),
});

const actionCard = kind('ActionCardContent', {
  type: z.literal('action_card'),
  title: z.string(),
  description: z.string().meta({
    description:
      'Plain text with line breaks. Do not render it as Markdown, which could hide a part of what the user approves.',
  }),
  actions: z.array(kind('CardAction', { id: z.string(), label: z.string(), style: ActionStyle })),
  selected_action_id: z.string().nullish(),
});

const toolStatus = kind('ToolStatusContent', {
  type: z.literal('tool_status'),
  tool: z.string(),
  description: z.string(),
  state: ToolState,
});

const system = kind('SystemContent', { type: z.literal('system'), text: z.string() });

const loading = kind('LoadingContent', {
  type: z.literal('loading').meta({
    description:
      'A reply that has begun. It becomes a `text`, or, if the agent waits without a text, an `action_card` or a `delegation`.',
  }),
});

const delegation = kind('DelegationContent', {
  type: z.literal('delegation'),
  from: AgentData.nullish(),
  to: AgentData.nullish(),
  status: DelegationStatus,
  task_preview: z.string(),
});

const artifact = kind('ArtifactContent', {
  type: z.literal('artifact'),
  artifact_id: z.string(),
  title: z.string(),
  version: z.int().positive(),
  status: ArtifactStatus,
  agent_slug: z.string(),
  content_preview: z.string(),
});

/** Fields that the specification does not define. */
export const WorkflowStepSummary = z
  .strictObject({
    step_id: z.string(),
    name: z.string(),
    status: WorkflowStepStatus,
    agent_slug: z.string(),
    started_at: Timestamp.nullable(),
    finished_at: Timestamp.nullable(),
  })
  .meta({ id: 'WorkflowStepSummary' });
export type WorkflowStepSummary = z.output<typeof WorkflowStepSummary>;

const workflow = kind('WorkflowContent', {
  type: z.literal('workflow'),
  workflow_id: z.string(),
  workflow_name: z.string(),
  execution_id: z.string(),
  status: WorkflowStatus,
  steps: z.array(WorkflowStepSummary),
});

export const MessageContent = z
  .discriminatedUnion('type', [text, actionCard, toolStatus, system, loading, delegation, artifact, workflow])
  .meta({ id: 'MessageContent' });
export type MessageContent = z.output<typeof MessageContent>;

const OFFSET = { description: 'The start of the mention in the text, in UTF-16 code units, on a character boundary.' };
const LENGTH = { description: 'The length of the mention in UTF-16 code units; the mention must end within the text.' };

export const Mention = z
  .strictObject({
    agent_id: Id,
    agent_name: z.string(),
    offset: z.int().nonnegative().meta(OFFSET),
    length: z.int().nonnegative().meta(LENGTH),
  })
  .meta({ id: 'Mention' });
export type Mention = z.output<typeof Mention>;

/** Extension: the same order in events and in lists. */
const Position = z.string().meta({
  description:
    'The sort key of the message in its conversation: opaque text that is compared character by character and never ' +
    'changes. The tool calls of a reply (`tool_status`) are listed directly before the reply, also while the reply is ' +
    '`loading`.',
  'x-extension': true,
});

const ERROR = {
  description: 'The reason why the message failed or is incomplete (`stopped` if a reply was stopped); null otherwise.',
  'x-extension': true,
};
const TRUNCATED = {
  description:
    'The text of `content` is only the beginning, without the mentions in the rest: a preview for a list, in `last_message`. Do not use it as a ' +
    'copy of the message, whatever its `rev` is. Absent if the text is complete.',
  'x-extension': true,
};
const EditedAt = Timestamp.nullable().meta({
  description: 'When the user last edited the message; null if never.',
  'x-extension': true,
});

/** The same in events, in lists and in all other responses: devices that received one of them show the same as others. */
export const MessageData = z
  .strictObject({
    id: Id,
    conversation_id: Id,
    role: MessageRole,
    content: MessageContent,
    status: ListedMessageStatus,
    extended_status: MessageStatus.meta({ description: 'The exact status.', 'x-extension': true }),
    created_at: Timestamp,
    updated_at: Timestamp,
    rev: Rev.optional(),
    position: Position,
    error: MessageError.nullable().meta(ERROR),
    edited_at: EditedAt,
    local_id: z.string().nullable(),
    agent: AgentData.nullable(),
    attachments: z.array(Attachment),
    mentions: z.array(Mention),
    truncated: z.literal(true).optional().meta(TRUNCATED),
  })
  .meta({ id: 'MessageData' });
export type MessageData = z.output<typeof MessageData>;

/**
 * The text of a reply that ended without one: clients that know only the specification would show an empty bubble. Others can tell by the
 * exact status that the agent wrote nothing.
 */
export const emptyReplyText = (agentName: string, status: MessageStatus): string =>
  status === 'delegated' ? `${agentName} hands over.` : `${agentName} has nothing to add for now.`;

export const Pagination = z
  .strictObject({
    next_scroll_id: z.string().nullable(),
    prev_scroll_id: z.string().nullable(),
    has_next: z.boolean(),
    has_prev: z.boolean(),
  })
  .meta({ id: 'Pagination' });
export type Pagination = z.output<typeof Pagination>;

export const MessagePage = z
  .strictObject({ data: z.array(MessageData), pagination: Pagination })
  .meta({ id: 'MessagePage' });
export type MessagePage = z.output<typeof MessagePage>;

/** Chosen by the client; unique per workspace and sender, without expiry. */
export const LocalId = z.string().min(1).max(128);

const ClientMention = z.object({
  agent_id: z.uuid(),
  agent_name: z.string().max(200).default(''),
  offset: z.int().nonnegative().meta(OFFSET),
  length: z.int().nonnegative().meta(LENGTH),
});

const MENTIONED =
  'In a swarm conversation, each mentioned agent answers once, in the order of the mentions; without mentions, the manager answers. ' +
  'In a conversation with one agent, that agent answers.';

/** All fields except `id` come from the upload; those of the client are ignored. */
const ClientAttachment = z.object({ id: z.uuid() });

/**
 * A message from a client. The service checks the type of its content, because a known type that clients may not send
 * has a separate error code.
 */
export const MessageDraft = z
  .object({
    content: z.object({ type: z.string().max(40), text: z.string().max(LIMITS.messageText).optional() }),
    mentions: z.array(ClientMention).max(LIMITS.mentionsPerMessage).default([]).meta({ description: MENTIONED }),
    attachments: z.array(ClientAttachment).max(LIMITS.attachmentsPerMessage).default([]),
  })
  .meta({ id: 'MessageDraft' });
export type MessageDraft = z.output<typeof MessageDraft>;

/** Body of the edit route. */
export const EditMessageBody = MessageDraft.extend({
  attachments: z.array(ClientAttachment).max(LIMITS.attachmentsPerMessage).optional(),
}).meta({ id: 'EditMessageBody' });
export type EditMessageBody = z.output<typeof EditMessageBody>;

/** Body of the send route; `local_id` is optional on REST. */
export const SendMessageBody = MessageDraft.extend({ local_id: LocalId.optional() }).meta({
  id: 'SendMessageBody',
});
