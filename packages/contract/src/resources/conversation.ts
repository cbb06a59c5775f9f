import { z } from 'zod';
import { ConversationType } from '../enums.js';
import { AgentSummary } from './agent.js';
import { LIMITS } from '../limits.js';
import { MessageData, pagination } from './message.js';
import { Id, Rev, Timestamp } from './primitives.js';

export const Conversation = z
  .strictObject({
    id: Id.meta({ description: 'Identifies the conversation in paths and events.' }),
    type: ConversationType.meta({ description: 'Who takes part besides the user.' }),
    title: z.string().meta({
      description:
        'The title that was set; otherwise the first words of the first user message; before that the name of the agent or the workspace.',
    }),
    created_at: Timestamp.meta({ description: 'When the user created it.' }),
    updated_at: Timestamp.meta({ description: 'When it was last active; for display only.' }),
    rev: Rev.optional(),
    unread_count: z.int().nonnegative().meta({
      description: 'How many messages of agents and the platform come after the read position.',
    }),
    last_read_message_id: Id.nullable().meta({
      description: 'The last message at or before the read position; null if there is none.',
      'x-extension': true,
    }),
    muted: z.boolean().optional().meta({
      description: 'True if no push notifications are sent for it.',
      'x-extension': true,
    }),
    agent: AgentSummary.nullable().meta({
      description: 'The partner in a conversation of type `agent`; otherwise null.',
    }),
    last_message: MessageData.nullable().meta({
      description:
        'The newest one by `position`; null if there is none. ' +
        `Its text has at most ${LIMITS.lastMessageText} characters; \`truncated\` tells whether it is longer.`,
    }),
  })
  .meta({ id: 'Conversation', description: 'A sequence of messages between the user and agents.' });
export type Conversation = z.output<typeof Conversation>;

export const ConversationPage = z
  .strictObject({
    data: z.array(Conversation).meta({ description: 'The conversations of this page, most recently active first.' }),
    pagination,
  })
  .meta({
    id: 'ConversationPage',
    description: 'The conversations of a workspace; without `limit`, all of them.',
  });
export type ConversationPage = z.output<typeof ConversationPage>;

const Title = z
  .string()
  .trim()
  .min(1)
  .max(LIMITS.title)
  .meta({ description: 'Whitespace is collapsed; control and bidirectional characters are removed.' });

export const UpdateConversationBody = z
  .object({
    title: Title.nullable().meta({
      description: `Up to ${LIMITS.title} characters, cleaned as when creating. Null removes the title; the first words of the first message replace it.`,
    }),
    muted: z.boolean().meta({ description: 'Whether to send no push notifications for the conversation.' }),
  })
  .partial()
  .meta({ id: 'UpdateConversationBody', description: 'What changes. A field that is absent stays as it is.' });
export type UpdateConversationBody = z.output<typeof UpdateConversationBody>;

export const CreateConversationBody = z
  .object({
    type: ConversationType.meta({ description: 'Whether to talk with all agents or with one.' }),
    agent_id: z.string().max(64).nullish().meta({
      description: 'The partner: required for the type `agent`, not allowed for `swarm`.',
    }),
    title: Title.nullish().meta({
      description: `Up to ${LIMITS.title} characters; without it, the first words of the first message. Whitespace is collapsed; control and bidirectional characters are removed.`,
    }),
  })
  .meta({ id: 'CreateConversationBody', description: 'Whom to talk with.' });
export type CreateConversationBody = z.output<typeof CreateConversationBody>;

export const MarkReadBody = z
  .object({
    message_id: z.uuid().optional().meta({
      description: 'The last message that was read; without it, all present ones.',
      'x-extension': true,
    }),
  })
  .meta({ id: 'MarkReadBody', description: 'How far the user has read.' });
