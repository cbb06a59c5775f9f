import { z } from 'zod';
import { DelegationStatus } from '../enums.js';
import { LIMITS } from '../limits.js';
import { MessageError } from './message-error.js';
import { pagination } from './message.js';
import { Id, Timestamp } from './primitives.js';

const CUT = `up to ${LIMITS.stepText.toLocaleString('en')} characters`;
const count = z.int().nonnegative();

/** Details by step kind. Client generators derive the class name from its id. */
const details = <Fields extends z.ZodRawShape>(id: string, description: string, fields: Fields) =>
  z.strictObject(fields).meta({ id, description });

const truncated = (what: string) => z.boolean().meta({ description: `Whether \`${what}\` is only the beginning.` });

const modelCall = details('ModelCallDetails', 'A request to a model.', {
  purpose: z.enum(['step', 'summary', 'title']).meta({
    description:
      '`step`: it continued the answer. `summary`: it shortened the conversation. `title`: it named the conversation.',
  }),
  status: z.enum(['running', 'completed', 'unknown']).meta({
    description: '`unknown`: the process ended before the usage was reported, so that the tokens are an estimate.',
  }),
  provider: z.string().meta({ description: 'The service that was asked, such as `openai`.' }),
  model: z.string().meta({ description: 'The name that the provider gives the model, such as `gpt-5-mini`.' }),
  prompt_tokens: count.meta({ description: 'Tokens that the model read.' }),
  cached_tokens: count.meta({ description: 'The part of `prompt_tokens` that was cheaper: the provider knew it.' }),
  completion_tokens: count.meta({ description: 'Tokens that the model wrote.' }),
  reasoning_tokens: count.meta({ description: 'The part of `completion_tokens` that users do not see: thoughts.' }),
  estimated: z.boolean().meta({ description: 'Whether the tokens are an estimate, as while the call runs.' }),
  cost_micros: count.nullable().meta({ description: 'In millionths of a US dollar. Null if the model has no price.' }),
});

const text = details('TextDetails', 'What the agent wrote.', {
  text: z.string().meta({
    description: `Untrusted Markdown like the text of a message, ${CUT}. For a task, the last one is what the calling agent was told.`,
  }),
  truncated: truncated('text'),
  message_id: Id.nullable().meta({ description: 'The message that ends with it; null for texts before tool calls.' }),
});

const toolCall = details('ToolCallDetails', 'How an agent used a tool, and what came of it.', {
  call_id: z.string().meta({ description: 'Unique within the turn; approvals, delegations and receipts refer to it.' }),
  tool: z.string().meta({ description: 'The name, as the model wrote it: the tool may not exist.' }),
  status: z.enum(['running', 'waiting', 'completed', 'failed', 'unknown']).meta({
    description:
      '`waiting`: for the decision of the user. `unknown`: the turn ended before the outcome was stored. A denied call is `failed`.',
  }),
  arguments: z
    .string()
    .nullable()
    .meta({
      description:
        `JSON as the model wrote it, ${CUT}. Plain text, which may contain anything. Null if the tool changes data of uswarm, as in ` +
        'receipts, and if the arguments are no longer stored.',
    }),
  arguments_truncated: truncated('arguments'),
  result: z
    .string()
    .nullable()
    .meta({
      description:
        `What the model read, ${CUT}. Plain text of others: do not render it as Markdown or HTML, and do not load its links. Null before ` +
        'the end, and if it is no longer stored.',
    }),
  result_truncated: truncated('result'),
  receipt_id: Id.nullable().meta({ description: 'The receipt, if the call changed something or may have.' }),
});

const approval = details('ApprovalDetails', 'A wait for the decision of the user.', {
  call_id: z.string().nullable().meta({ description: 'The call that waited. Null if the turn asked for tokens.' }),
  message_id: Id.meta({ description: 'The card, which has the exact text of the question.' }),
  status: z.enum(['open', 'approved', 'denied', 'expired', 'superseded']).meta({
    description: '`superseded`: the user sent another message, or the turn ended.',
  }),
  tokens: count.nullable().meta({ description: 'The tokens that the turn asked for. Null for a call.' }),
  expires_at: Timestamp.meta({ description: 'Until when the user can decide.' }),
});

const StepAgent = z
  .strictObject({
    id: Id.meta({ description: 'The agent as in paths.' }),
    name: z.string().meta({ description: 'For display.' }),
    slug: z.string().meta({ description: 'How mentions call it.' }),
  })
  .meta({ id: 'StepAgent', description: 'An agent that a list of steps names.' });

const delegation = details('DelegationDetails', 'A task that another agent worked on.', {
  call_id: z.string().nullable().meta({ description: 'The call that gave the task. Null for a step of a workflow.' }),
  workflow_id: Id.nullable().meta({ description: 'The workflow that has the task as a step. Null for other tasks.' }),
  turn_id: Id.meta({ description: 'The turn of the other agent, whose steps can be listed with this id.' }),
  message_id: Id.meta({ description: 'The message that shows the task or the workflow.' }),
  agent: StepAgent.meta({ description: 'Who works on it.' }),
  task: z.string().meta({ description: `The beginning of the task, up to ${LIMITS.taskPreview} characters.` }),
  status: DelegationStatus.meta({ description: 'How far the task is.' }),
});

const only = (type: string) => ({ description: `Null unless the type is \`${type}\`.` });

/** Not a union: generated clients could not read one with further types. */
export const TurnStep = z
  .strictObject({
    type: z.enum(['model_call', 'text', 'tool_call', 'approval', 'delegation']).meta({
      description: 'The field with the details. More values may be added: ignore steps of other types.',
    }),
    id: z.string().meta({ description: 'Unique within the turn; it never changes.' }),
    started_at: Timestamp.meta({ description: 'When it began.' }),
    finished_at: Timestamp.nullable().meta({ description: 'When it ended. Null before, and if that is not known.' }),
    model_call: modelCall.nullable().meta(only('model_call')),
    text: text.nullable().meta(only('text')),
    tool_call: toolCall.nullable().meta(only('tool_call')),
    approval: approval.nullable().meta(only('approval')),
    delegation: delegation.nullable().meta(only('delegation')),
  })
  .meta({ id: 'TurnStep', description: 'A part of what an agent did in a turn.' });
export type TurnStep = z.output<typeof TurnStep>;

export const TurnSteps = z
  .strictObject({
    turn_id: Id.meta({ description: 'The `turn_id` of its messages. It stays the same after decisions of the user.' }),
    conversation_id: Id.meta({ description: 'Where the agent was asked.' }),
    agent: StepAgent.meta({ description: 'Who worked.' }),
    status: z.enum(['queued', 'running', 'waiting', 'completed', 'failed', 'stopped']).meta({
      description: '`waiting`: for a decision of the user or for other agents. More values may be added.',
    }),
    error: MessageError.nullable().meta({ description: 'Why it failed or was stopped; null otherwise.' }),
    delegated_by: Id.nullable().meta({ description: 'The turn that gave it a task. Null if it answers the user.' }),
    task: z
      .string()
      .nullable()
      .meta({
        description: `The beginning of the task, up to ${LIMITS.taskPreview} characters. Null if it answers the user.`,
      }),
    created_at: Timestamp.meta({ description: 'When it was queued.' }),
    started_at: Timestamp.nullable().meta({ description: 'Null while it is queued for the first time.' }),
    finished_at: Timestamp.nullable().meta({ description: 'Null until it ends, also while it waits.' }),
    steps: z.array(TurnStep).meta({ description: 'The steps of this page, oldest first.' }),
  })
  .meta({ id: 'TurnSteps', description: 'A turn of an agent with what it did.' });
export type TurnSteps = z.output<typeof TurnSteps>;

export const TurnStepPage = z
  .strictObject({
    data: TurnSteps.meta({ description: 'Who worked and how it ended, with the steps of this page.' }),
    pagination,
  })
  .meta({ id: 'TurnStepPage', description: 'A part of what an agent did in one turn.' });
export type TurnStepPage = z.output<typeof TurnStepPage>;
