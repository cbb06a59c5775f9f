import { z } from 'zod';
import { ConversationType } from '../enums.js';
import { AgentSummary } from './agent.js';
import { MessageData } from './message.js';
import { Id, Timestamp } from './primitives.js';

/** spec: orchestrator §2.9 */
export const Conversation = z
  .strictObject({
    id: Id,
    type: ConversationType,
    title: z.string(),
    created_at: Timestamp,
    updated_at: Timestamp,
    unread_count: z.int().nonnegative(),
    agent: AgentSummary.nullable(),
    last_message: MessageData.nullable(),
  })
  .meta({ id: 'Conversation' });
export type Conversation = z.output<typeof Conversation>;

export const CreateConversationBody = z
  .object({ type: ConversationType, agent_id: z.string().max(64).nullish() })
  .meta({ id: 'CreateConversationBody' });
export type CreateConversationBody = z.output<typeof CreateConversationBody>;
