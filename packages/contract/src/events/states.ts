import { z } from 'zod';
import { AgentStatus } from '../enums.js';
import { Id } from '../resources/primitives.js';

/** The status of an agent, as the last `agent.status` reported it. */
export const AgentState = z
  .strictObject({
    agent_id: Id,
    status: AgentStatus,
    conversation_id: Id.optional(),
    until_ms: z.int().positive().nullable().meta({
      description:
        'Milliseconds from now, after which the agent is `online` unless the status is sent again; null if it has no end.',
    }),
  })
  .meta({ id: 'AgentState' });
export type AgentState = z.output<typeof AgentState>;

/** The beginning of a reply that an agent writes. Its next `message.chunk` has a higher `chunk_seq` or `generation`. */
export const StreamState = z
  .strictObject({
    message_id: Id,
    conversation_id: Id,
    agent_id: Id,
    generation: z.int().positive(),
    chunk_seq: z.int().nonnegative(),
    text: z.string(),
  })
  .meta({ id: 'StreamState' });
export type StreamState = z.output<typeof StreamState>;
