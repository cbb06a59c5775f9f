import { z } from 'zod';
import { ConversationType } from '../enums.js';
import { AgentSummary } from './agent.js';
import { LIMITS } from '../limits.js';
import { MessageData, Pagination } from './message.js';
import { Id, Rev, Timestamp } from './primitives.js';

export const Conversation = z
  .strictObject({
    id: Id,
    type: ConversationType,
    title: z.string().meta({
      description:
        'The title that was set; otherwise the first words of the first user message; before that the name of the agent or the workspace.',
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
    rev: Rev.optional(),
    unread_count: z.int().nonnegative(),
    last_read_message_id: Id.nullable().meta({
      description: 'The last message at or before the read position; null if there is none.',
      'x-extension': true,
    }),
    agent: AgentSummary.nullable(),
    last_message: MessageData.nullable().meta({
      description: `The text of the message has at most ${LIMITS.lastMessageText} characters; \`truncated\` tells whether it is longer.`,
    }),
  })
  .meta({ id: 'Conversation' });
export type Conversation = z.output<typeof Conversation>;

/** The conversations of a workspace; without `limit`, all of them. */
export const ConversationPage = z
  .strictObject({ data: z.array(Conversation), pagination: Pagination })
  .meta({ id: 'ConversationPage' });
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
      description: 'Null removes the title; the first words of the first message replace it.',
    }),
  })
  .partial()
  .meta({ id: 'UpdateConversationBody' });
export type UpdateConversationBody = z.output<typeof UpdateConversationBody>;

export const CreateConversationBody = z
  .object({ type: ConversationType, agent_id: z.string().max(64).nullish(), title: Title.nullish() })
  .meta({ id: 'CreateConversationBody' });
export type CreateConversationBody = z.output<typeof CreateConversationBody>;

export const MarkReadBody = z
  .object({
    message_id: z.uuid().optional().meta({ description: 'The last message that was read.', 'x-extension': true }),
  })
  .meta({ id: 'MarkReadBody' });
