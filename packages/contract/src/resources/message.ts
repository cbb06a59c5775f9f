import { z } from 'zod';
import {
  ActionStyle,
  ArtifactStatus,
  DelegationStatus,
  FormFieldType,
  ListedMessageStatus,
  MessageContentType,
  MessageRole,
  MessageStatus,
  ToolPermission,
  ToolState,
  WorkflowStatus,
  WorkflowStepStatus,
} from '../enums.js';
import { LIMITS } from '../limits.js';
import { AgentData } from './agent.js';
import { answerFields } from './answer.js';
import { MessageError } from './message-error.js';
import { DOCUMENTED_AS, Id, Rev, Timestamp } from './primitives.js';
import { Attachment } from './upload.js';

/** A kind of content. Client generators derive the class name from its id. */
function kind<Fields extends z.ZodRawShape>(id: string, description: string, fields: Fields) {
  return z.strictObject(fields).meta({ id, description });
}

const typeOf = <Type extends string>(type: Type) =>
  z.literal(type).meta({ description: 'Tells the kinds of content apart.' });

const text = kind('TextContent', 'The words of a user or an agent.', {
  type: typeOf('text'),
  text: z.string().meta({
    description:
      'From an agent: untrusted Markdown. Images of other hosts are not images in it, and the text of a link to another host ends with ' +
      'the host. Do not render HTML, and do not load links automatically, for example for previews. From the user: plain text, unchanged.',
  }),
});

const CardAction = kind('CardAction', 'A button of a card.', {
  id: z
    .string()
    .meta({ description: 'The `action_id` to send with `POST …/messages/{id}/action`; unique on the card.' }),
  label: z
    .string()
    .meta({ description: 'The text on the button. It becomes the text of the user message after a choice.' }),
  style: ActionStyle.meta({ description: 'How prominent the button is.' }),
});

const CardApproval = z
  .strictObject({
    tool: z
      .string()
      .meta({ description: 'The `name` of the `AgentTool` with which the user allows such calls, such as `gmail`.' }),
    permission: ToolPermission.meta({
      description:
        'What the user allows the agent of the message. `ask`: each call asks, until `PATCH /v1/agents/{id}/tools/{name}` sets `allow`. ' +
        '`allow`: this call asks whatever the setting, for example because the agent has read content from others.',
    }),
  })
  .meta({ id: 'CardApproval', description: 'The call that a card asks about.' });

/** As in an HTML form: clients need no type for values that can be a text, a number or a list. */
export const FormValue = z
  .array(z.string().max(LIMITS.formText))
  .max(LIMITS.formOptions)
  .meta({
    description:
      'Texts: one for most types, none if the field is empty, any number for `choices`. A number is written in decimal, a `boolean` as ' +
      '`true` or `false`.',
  });
export type FormValue = z.output<typeof FormValue>;

const FormOption = z
  .strictObject({
    value: z.string().meta({ description: 'What to send if the user chooses it.' }),
    label: z.string().meta({ description: 'What to show.' }),
  })
  .meta({ id: 'FormOption', description: 'One of the values that a field can have.' });

export const FormField = z
  .strictObject({
    name: z.string().meta({ description: 'The key of the value in `values`; unique in the form.' }),
    label: z.string().meta({ description: 'What to write beside the field; plain text from others.' }),
    help: z
      .string()
      .optional()
      .meta({ description: 'An explanation in plain text from others; absent if there is none.' }),
    type: FormFieldType.meta({ description: 'What the user enters.' }),
    required: z.boolean().meta({ description: 'Whether the form can be sent without a value.' }),
    options: z
      .array(FormOption)
      .optional()
      .meta({ description: 'What can be chosen; only for `choice` and `choices`.' }),
    initial: FormValue.optional().meta({ description: 'What the field contains before the user changes it.' }),
  })
  .meta({ id: 'FormField', description: 'A field that the user fills in.' });
export type FormField = z.output<typeof FormField>;

const actionCard = kind(
  'ActionCardContent',
  'A question of an agent that the user answers by choosing a button, once.',
  {
    type: typeOf('action_card'),
    title: z.string().meta({ description: 'The question or request in one line of plain text.' }),
    description: z.string().meta({
      description:
        'Plain text with line breaks. Do not render it as Markdown, which could hide a part of what the user approves.',
    }),
    actions: z.array(CardAction).meta({ description: 'The buttons in the order to show them; at least one.' }),
    selected_action_id: z.string().nullish().meta({
      description: 'The button that was chosen; null or absent while the card waits. Then disable all buttons.',
    }),
    approval: CardApproval.optional().meta({
      description: 'The call that waits for the choice; absent if the card asks about something else.',
      'x-extension': true,
    }),
    form: z
      .array(FormField)
      .optional()
      .meta({
        description:
          'Present on a question that an app asks during a call, whose answer goes to the app: fields to fill in before the button ' +
          '`submit` is chosen, or none if the buttons are enough. A client that cannot show fields shows the other buttons.',
        'x-extension': true,
      }),
    open_url: z
      .url()
      .optional()
      .meta({
        description:
          'An https address that the app asks the user to open in a browser before the button `submit`; absent if there is none. Show it in ' +
          'full, and open it only when the user taps it. The description names it too.',
        'x-extension': true,
      }),
    expires_at: Timestamp.optional().meta({
      description: 'When the card is withdrawn if nothing is chosen; absent if it is not.',
      'x-extension': true,
    }),
  },
);

const toolStatus = kind(
  'ToolStatusContent',
  'A call of a tool by an agent, shown before the reply that it belongs to.',
  {
    type: typeOf('tool_status'),
    tool: z.string().meta({ description: 'The `name` of an `AgentTool`, such as `web_search_tool`.' }),
    description: z
      .string()
      .meta({ description: 'What the call is about in one line of plain text, such as the words of a search.' }),
    state: ToolState.meta({ description: 'How far the call is; `running` becomes one of the others.' }),
  },
);

const system = kind('SystemContent', 'A note of the platform, such as a warning about the budget.', {
  type: typeOf('system'),
  text: z.string().meta({ description: 'An English sentence in plain text.' }),
});

const loading = kind('LoadingContent', 'The place of a reply whose text has not begun.', {
  type: z.literal('loading').meta({
    description:
      'A reply that has begun. It becomes a `text`, or, if the agent waits without a text, an `action_card` or a `delegation`.',
  }),
});

const delegation = kind('DelegationContent', 'A task that one agent gave to another.', {
  type: typeOf('delegation'),
  from: AgentData.nullish().meta({ description: 'Who gave the task; null or absent if that agent no longer exists.' }),
  to: AgentData.nullish().meta({ description: 'Who works on it; null or absent if that agent no longer exists.' }),
  status: DelegationStatus.meta({ description: 'How far the task is; `running` becomes one of the others.' }),
  task_preview: z.string().meta({ description: `The beginning of the task, up to ${LIMITS.taskPreview} characters.` }),
});

const artifact = kind('ArtifactContent', 'A version of a document that an agent wrote.', {
  type: typeOf('artifact'),
  artifact_id: z.string().meta({ description: 'The id to load the document with `GET …/artifacts/{id}`.' }),
  title: z.string().meta({ description: `The heading of this version, up to ${LIMITS.artifactTitle} characters.` }),
  version: z.int().positive().meta({ description: 'Counts from 1; later messages can show later versions.' }),
  status: ArtifactStatus.meta({ description: 'Whether the agent still works on this version.' }),
  agent_slug: z.string().meta({ description: 'Which agent of the workspace wrote the version.' }),
  content_preview: z.string().meta({
    description: `The beginning of the document, up to ${LIMITS.artifactPreview} characters of Markdown, like the text of a message.`,
  }),
});

/** Fields that the specification does not define. */
export const WorkflowStepSummary = z
  .strictObject({
    step_id: z.string().meta({ description: 'Unique within the workflow; `after` of other steps refers to it.' }),
    name: z.string().meta({ description: `A title for display, up to ${LIMITS.workflowName} characters.` }),
    status: WorkflowStepStatus.meta({ description: 'How far this part of the plan is.' }),
    agent_slug: z.string().meta({ description: 'Which agent of the workspace works on it.' }),
    started_at: Timestamp.nullable().meta({ description: 'When the agent began; null before.' }),
    finished_at: Timestamp.nullable().meta({ description: 'When it was completed or failed; null before.' }),
  })
  .meta({ id: 'WorkflowStepSummary', description: 'A part of a workflow that one agent works on.' });
export type WorkflowStepSummary = z.output<typeof WorkflowStepSummary>;

const workflow = kind('WorkflowContent', 'A plan of steps that agents work on in the background.', {
  type: typeOf('workflow'),
  workflow_id: z.string().meta({ description: 'The id to load it with `GET …/workflows/{id}`.' }),
  workflow_name: z.string().meta({ description: 'A title for display, as the agent chose it.' }),
  execution_id: z.string().meta({ description: 'Identifies this run. A plan runs once, so it equals `workflow_id`.' }),
  status: WorkflowStatus.meta({ description: 'How far the whole plan is.' }),
  steps: z.array(WorkflowStepSummary).meta({ description: 'The parts in the order of the plan.' }),
});

export const MessageContent = z
  .discriminatedUnion('type', [text, actionCard, toolStatus, system, loading, delegation, artifact, workflow])
  .meta({
    id: 'MessageContent',
    description: 'What a message shows, by `type`. Types may be added: an unknown one is an `UnknownContent`.',
    'x-unknown-variant': 'UnknownContent',
  });
export type MessageContent = z.output<typeof MessageContent>;

/**
 * In the documents, the `MessageContent` variant for types from later releases, so that generated clients do not fail.
 * The service never sends it, so the service's union does not have it.
 */
export const UnknownContent = z
  .object({
    type: z.string().meta({
      description: 'A type that this version of the document does not list.',
      not: { enum: MessageContentType.options },
    }),
    text: z
      .string()
      .optional()
      .meta({ description: 'What a client that does not know the type can show, if present.' }),
  })
  .meta({
    id: 'UnknownContent',
    description:
      'Content of a type that was added after the client was generated. Show its `text`, or ask for an update of the app.',
  });

const OFFSET = { description: 'The start of the mention in the text, in UTF-16 code units, on a character boundary.' };
const LENGTH = { description: 'The length of the mention in UTF-16 code units; the mention must end within the text.' };

export const Mention = z
  .strictObject({
    agent_id: Id.meta({ description: 'The agent that the user addresses.' }),
    agent_name: z.string().meta({ description: 'How the agent was called when the message was written.' }),
    offset: z.int().nonnegative().meta(OFFSET),
    length: z.int().nonnegative().meta(LENGTH),
  })
  .meta({ id: 'Mention', description: 'A part of a text that addresses an agent, such as `@Researcher`.' });
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
    'True if the text of `content` is only the beginning, without the mentions in the rest: a preview for a list, in `last_message`. Do not use it ' +
    'as a copy of the message, whatever its `rev` is. Absent if the text is complete.',
  'x-extension': true,
};
const EditedAt = Timestamp.nullable().meta({
  description: 'When the user last edited the message; null if never.',
  'x-extension': true,
});

/** The same in events, in lists and in all other responses: devices that received one of them show the same as others. */
export const MessageData = z
  .strictObject({
    id: Id.meta({ description: 'Identifies the message in paths and events. It never changes.' }),
    conversation_id: Id.meta({ description: 'Where the message belongs.' }),
    role: MessageRole.meta({ description: 'Who wrote the message.' }),
    content: MessageContent.meta({ description: 'What the message shows, by `type`.' }),
    status: ListedMessageStatus.meta({ description: 'One of three coarse states.' }),
    extended_status: MessageStatus.meta({
      description: 'The exact state of delivery or of the reply.',
      'x-extension': true,
    }),
    created_at: Timestamp.meta({ description: 'When the message was stored. Sort by `position`, not by this time.' }),
    updated_at: Timestamp.meta({ description: 'When anything in it last changed; for display only.' }),
    rev: Rev.optional(),
    position: Position,
    error: MessageError.nullable().meta(ERROR),
    edited_at: EditedAt,
    local_id: z.string().nullable().meta({
      description:
        'The `local_id` that the sender chose, to match its own copy; null for messages of agents and the platform.',
    }),
    agent: AgentData.nullable().meta({ description: 'The author of a message with the role `agent`; otherwise null.' }),
    attachments: z
      .array(Attachment)
      .meta({ description: 'Files of the user, in the order that the client sent them.' }),
    mentions: z
      .array(Mention)
      .meta({ description: 'The agents that the text addresses, in the order that the client sent them.' }),
    truncated: z.boolean().optional().meta(TRUNCATED),
    ...answerFields,
    schedule_id: Id.optional().meta({
      description:
        'The schedule whose run began with this message, which its user has not written. Absent for other messages.',
      'x-extension': true,
    }),
    trigger_id: Id.optional().meta({
      description:
        'The trigger whose run began with this message, which its user has not written. What the other system sent is attached. Absent ' +
        'for other messages.',
      'x-extension': true,
    }),
    answered_with: Id.optional().meta({
      description:
        'The message of the user whose answer answers this one, too: a later one that waited with it, or the earlier one whose answer it ' +
        'steered. That message can have the field, too. Absent for a message with its own answer.',
      'x-extension': true,
    }),
  })
  .meta({ id: 'MessageData', description: 'A message with a coarse and an exact status.' });
export type MessageData = z.output<typeof MessageData>;

/**
 * Text for a reply that ended without one: clients that know only the specification would show an empty bubble. Others
 * can tell by the exact status that the agent wrote nothing.
 */
export const emptyReplyText = (agentName: string, status: MessageStatus): string =>
  status === 'delegated' ? `${agentName} hands over.` : `${agentName} has nothing to add for now.`;

export const Pagination = z
  .strictObject({
    next_scroll_id: z.string().nullable().meta({
      description:
        'The cursor of the following page, to send as `scrollId`; null if there is none. Opaque, up to 512 characters.',
    }),
    prev_scroll_id: z.string().nullable().meta({
      description: 'The cursor of the preceding page, to send as `scrollId`; null if there is none.',
    }),
    has_next: z.boolean().meta({ description: 'Whether the following page has items.' }),
    has_prev: z.boolean().meta({ description: 'Whether the preceding page has items.' }),
  })
  .meta({ id: 'Pagination', description: 'Cursors to the neighbours of a page.' });
export type Pagination = z.output<typeof Pagination>;

/** The field of that name in all pages. */
export const pagination = Pagination.meta({ description: 'Cursors of the neighbouring pages.' });

export const MessagePage = z
  .strictObject({
    data: z.array(MessageData).meta({ description: 'The messages of this page, in the order of `direction`.' }),
    pagination,
  })
  .meta({ id: 'MessagePage', description: 'A part of the messages of a conversation, an agent or a search.' });
export type MessagePage = z.output<typeof MessagePage>;

const OpenCard = z
  .strictObject({
    workspace_id: Id.meta({ description: 'Workspace that contains the message.' }),
    message: MessageData.meta({ description: 'The message with the `action_card`, as `listMessages` returns it.' }),
  })
  .meta({ id: 'OpenCard', description: 'A card that waits for the user.' });
export type OpenCard = z.output<typeof OpenCard>;

export const OpenCardPage = z
  .strictObject({
    data: z.array(OpenCard).meta({ description: 'Cards, oldest first.' }),
    pagination,
  })
  .meta({ id: 'OpenCardPage', description: 'A page of cards that wait for the user.' });
export type OpenCardPage = z.output<typeof OpenCardPage>;

export const LocalId = z
  .string()
  .min(1)
  .max(128)
  .meta({
    description:
      'Chosen by the client, for example a UUID; 1 to 128 characters, unique per workspace and sender, without expiry. The same id with ' +
      'the same message returns the first result, so a message can be sent again after a lost response.',
  });

const MentionDraft = z
  .object({
    agent_id: z.uuid().meta({ description: 'The agent that the user addresses, of the same workspace.' }),
    agent_name: z
      .string()
      .max(200)
      .default('')
      .meta({ description: 'How the text calls the agent, up to 200 characters.' }),
    offset: z.int().nonnegative().meta(OFFSET),
    length: z.int().nonnegative().meta(LENGTH),
  })
  .meta({ id: 'MentionDraft', description: 'A part of a new text that addresses an agent.' });

const MENTIONED =
  'In a swarm conversation, each mentioned agent answers once, in the order of the mentions; without mentions, the manager answers. ' +
  'In a conversation with one agent, that agent answers.';

/** All fields except `id` come from the upload; the client's are ignored. */
const AttachmentReference = z
  .object({ id: z.uuid().meta({ description: 'The `id` that `POST /v1/uploads` returned to the same user.' }) })
  .meta({ id: 'AttachmentReference', description: 'An uploaded file to attach.' });

const ATTACHED = `Files to attach, up to ${LIMITS.attachmentsPerMessage}; repeated ones count once.`;

/** The service checks the type, because a known type that clients may not send has a separate error code. */
const DraftContent = z.object({ type: z.string().max(40), text: z.string().max(LIMITS.messageText).optional() }).meta({
  description: `The words of the user: plain text of up to ${LIMITS.messageText.toLocaleString('en')} characters, empty only with an attachment.`,
  [DOCUMENTED_AS]: 'TextContent',
});

/** A message from a client. */
export const MessageDraft = z
  .object({
    content: DraftContent,
    mentions: z.array(MentionDraft).max(LIMITS.mentionsPerMessage).default([]).meta({ description: MENTIONED }),
    attachments: z
      .array(AttachmentReference)
      .max(LIMITS.attachmentsPerMessage)
      .default([])
      .meta({ description: ATTACHED }),
  })
  .meta({ id: 'MessageDraft', description: 'A text of the user with mentions and files.' });
export type MessageDraft = z.output<typeof MessageDraft>;

const STEERS =
  'True if an agent that still answers an earlier message of the conversation reads this one at its next step, without a separate reply. ' +
  'If no agent works, or the agent finishes first, the message is answered like any other.';

/** A message to send. */
export const SentDraft = MessageDraft.extend({ steer: z.boolean().optional().meta({ description: STEERS }) });
export type SentDraft = z.output<typeof SentDraft>;

/** Edit body. */
export const EditMessageBody = MessageDraft.extend({
  attachments: z
    .array(AttachmentReference)
    .max(LIMITS.attachmentsPerMessage)
    .optional()
    .meta({
      description: `Replaces the files, of which there may be ${LIMITS.attachmentsPerMessage}; without it the message keeps its files.`,
    }),
}).meta({ id: 'EditMessageBody', description: 'The new text, which replaces the old one with its mentions.' });
export type EditMessageBody = z.output<typeof EditMessageBody>;

/** Send body; `local_id` is optional on REST. */
export const SendMessageBody = SentDraft.extend({ local_id: LocalId.optional() }).meta({
  id: 'SendMessageBody',
  description: 'A message to send. With `local_id`, repeating the request is safe.',
});
