import { z } from 'zod';
import { AgentStatus, DelegationStatus } from '../enums.js';
import { ErrorCode } from '../errors.js';
import { answerFields } from '../resources/answer.js';
import { MessageData } from '../resources/message.js';
import { MessageError } from '../resources/message-error.js';
import { Id, Rev } from '../resources/primitives.js';
import { durable, ephemeral, type ServerEventDefinition } from './fields.js';

const ConversationChange = z
  .strictObject({
    rev: Rev,
    title: z.string().meta({ description: 'What lists show; a first message can change it.' }),
    unread_count: z.int().nonnegative().meta({ description: 'How many messages come after the read position.' }),
  })
  .meta({ id: 'ConversationChange', description: 'What a message changed in its conversation.' });

const WorkspaceChange = z
  .strictObject({
    rev: Rev,
    unread_count: z.int().nonnegative().meta({ description: 'How many messages are unread in all conversations.' }),
  })
  .meta({ id: 'WorkspaceChange', description: 'What a message changed in its workspace.' });

/**
 * Optional fields in message events: the message's effect on its conversation, its workspace and the answer to a question.
 */
const changes = {
  conversation: ConversationChange.optional().meta({
    description: 'Replaces the fields of a copy of the conversation that has a lower `rev`.',
    'x-extension': true,
  }),
  workspace: WorkspaceChange.optional().meta({
    description: 'Replaces the fields of a copy of the workspace that has a lower `rev`.',
    'x-extension': true,
  }),
  answer_ended: z
    .boolean()
    .optional()
    .meta({
      description:
        'Whether the message `in_reply_to` is completely answered: none of its turns is queued, runs, or waits for a decision of the user or ' +
        'for a task of another agent. The first event with `true` ends the answer, whatever its message is. Absent without `in_reply_to`.',
      'x-extension': true,
    }),
};

const message = MessageData.meta({ description: 'The message as it is when the event is sent.' });
const conversationId = Id.meta({ description: 'Where the message is.' });
const localId = z.string().meta({ description: 'The `local_id` of the `message.send` that this answers.' });
const agentId = Id.meta({ description: 'The agent that works.' });

/** Events about messages, and about agents that write them. */
export const MESSAGE_EVENTS = {
  'message.new': {
    summary: 'A message was created. Choosing an action of a card also creates a user message.',
    payload: z
      .strictObject({ ...durable, message, ...changes })
      .meta({ id: 'MessageNew', description: 'A message that did not exist before.' }),
  },
  'message.updated': {
    summary: 'A message changed.',
    payload: z
      .strictObject({ ...durable, message, ...changes })
      .meta({ id: 'MessageUpdated', description: 'The whole message after the change.' }),
  },
  'message.send.ack': {
    summary: 'A sent message is stored.',
    payload: z
      .strictObject({
        local_id: localId,
        message_id: Id.meta({ description: 'What the service calls the message from now on.' }),
        status: z.literal('received').meta({ description: 'The message is stored; delivery follows.' }),
      })
      .meta({ id: 'MessageSendAck', description: 'The answer to `message.send` if it succeeded.' }),
  },
  'message.send.error': {
    summary: 'Sending a message failed, or its result is unknown; see `stored`.',
    payload: z
      .strictObject({
        local_id: localId,
        error: z.string().meta({ description: 'An English sentence for developers.' }),
        code: ErrorCode.meta({ description: 'What went wrong, as in errors of the REST API.' }),
        retryable: z.boolean().meta({ description: 'Whether the same event may succeed later.' }),
        request_id: z.string().meta({ description: 'Identifies the attempt; name it in support requests.' }),
        retry_after_ms: z.int().nonnegative().optional().meta({
          description: 'Milliseconds after which the same event may succeed.',
          'x-extension': true,
        }),
        stored: z
          .enum(['no', 'unknown'])
          .optional()
          .meta({
            description:
              '`no`: nothing was stored and nothing will be. `unknown`: the message may be stored; no later message of this ' +
              'connection has a lower `seq`. The same event with the same `local_id` finds out: it stores ' +
              'the message only once.',
            'x-extension': true,
          }),
      })
      .meta({ id: 'MessageSendError', description: 'The answer to `message.send` if it failed.' }),
  },
  'message.chunk': {
    summary: 'A streamed part of an agent reply.',
    payload: z
      .strictObject({
        ...ephemeral,
        message_id: Id.meta({ description: 'The reply that is being written.' }),
        conversation_id: conversationId,
        agent_id: agentId,
        chunk: z.string().meta({ description: 'The next part of the text, as untrusted Markdown.' }),
        chunk_seq: z.int().positive().meta({ description: 'The number of the part within its generation, from 1.' }),
        generation: z.int().positive().meta({
          description: 'Counts the beginnings of the text, from 1. A higher one starts again with an empty text.',
        }),
        offset: z
          .int()
          .nonnegative()
          .optional()
          .meta({
            description:
              'The position of `chunk` in the streamed text in UTF-16 code units: the text of this generation becomes its first ' +
              '`offset` units and `chunk`. If the client has less text than `offset`, a part is missing; the final text ' +
              'arrives with `message.done`.',
            'x-extension': true,
          }),
        ...answerFields,
      })
      .meta({ id: 'MessageChunk', description: 'Text to append to a reply while it is being written.' }),
  },
  'message.done': {
    summary:
      'An agent reply is finished, and has a text; its final `message.updated` was sent before. A reply that waits without a text has no ' +
      'end: it has become the card or the delegation that it waits for.',
    payload: z
      .strictObject({
        ...durable,
        message_id: Id.meta({ description: 'The reply that ended.' }),
        conversation_id: conversationId,
        agent_id: agentId,
        status: z.enum(['delivered', 'failed']).meta({ description: 'Whether the reply is complete.' }),
        error: MessageError.nullable().meta({
          description: 'The reason of the failure, as in the message.',
          'x-extension': true,
        }),
        ...answerFields,
        ...changes,
      })
      .meta({ id: 'MessageDone', description: 'The end of a reply.' }),
  },
  'message.deleted': {
    summary: 'A message was deleted permanently. Ignore later events about it, including `message.chunk`.',
    extension: true,
    payload: z
      .strictObject({
        ...durable,
        conversation_id: Id.meta({ description: 'Where the message was.' }),
        message_id: Id.meta({ description: 'What to remove from all lists.' }),
      })
      .meta({ id: 'MessageDeleted', description: 'A message that no longer exists.' }),
  },
  'agent.tool': {
    summary:
      'An agent uses a tool. The `running` of a call is sent before its `done`, but a client that does not receive all events, ' +
      'such as one that subscribes in between, can receive `done` alone, or no `done`. Both can repeat after a failure of ' +
      'the service. The message of the call (`tool_status`, `delegation`) has its state.',
    payload: z
      .strictObject({
        ...ephemeral,
        agent_id: agentId,
        conversation_id: Id.meta({ description: 'Where the agent is replying.' }),
        tool: z.string().meta({ description: 'Which one, such as `web_search_tool`.' }),
        status: z.enum(['running', 'done']).meta({ description: 'Whether the call has begun or ended.' }),
        query: z.string().optional().meta({ description: 'What the call is about, such as the words of a search.' }),
        outcome: z
          .enum(['completed', 'failed'])
          .optional()
          .meta({ description: 'How the call ended; only with `done`.' }),
        ...answerFields,
      })
      .meta({ id: 'AgentToolEvent', description: 'The begin or end of a call.' }),
  },
  'agent.status': {
    summary: 'The status of an agent changed.',
    payload: z
      .strictObject({
        ...ephemeral,
        agent_id: Id.meta({ description: 'Whose status changed.' }),
        status: AgentStatus.meta({ description: 'What the agent does from now on.' }),
        conversation_id: Id.optional().meta({ description: 'Where it does that; absent if nowhere in particular.' }),
        expires_in_ms: z.int().positive().optional().meta({
          description:
            'Milliseconds after which the status no longer applies unless it is sent again; the agent is then `online`. Absent if it has no end.',
          'x-extension': true,
        }),
      })
      .meta({ id: 'AgentStatusEvent', description: 'What an agent does now.' }),
  },
  'agent.delegation': {
    summary: 'A delegation started or ended; the message with `message_id` has its content.',
    payload: z
      .strictObject({
        ...ephemeral,
        message_id: Id.meta({ description: 'The message that shows the task.' }),
        conversation_id: conversationId,
        status: DelegationStatus.meta({ description: 'How far the task is.' }),
        ...answerFields,
      })
      .meta({ id: 'AgentDelegationEvent', description: 'The begin or end of a task that one agent gave to another.' }),
  },
} as const satisfies Record<string, ServerEventDefinition>;
