import { z } from 'zod';
import { AgentStatus } from '../enums.js';
import { answerFields } from '../resources/answer.js';
import { Id } from '../resources/primitives.js';

export const AgentState = z
  .strictObject({
    agent_id: Id.meta({ description: 'Whose status it is.' }),
    status: AgentStatus.meta({ description: 'What the agent does now.' }),
    conversation_id: Id.optional().meta({ description: 'Where it does that; absent if nowhere in particular.' }),
    until_ms: z.int().positive().nullable().meta({
      description:
        'Milliseconds from now, after which the agent is `online` unless the status is sent again; null if it has no end.',
    }),
  })
  .meta({ id: 'AgentState', description: 'The status of an agent, as the last `agent.status` reported it.' });
export type AgentState = z.output<typeof AgentState>;

export const StreamState = z
  .strictObject({
    message_id: Id.meta({ description: 'The reply that is being written.' }),
    conversation_id: Id.meta({ description: 'Where it will be shown.' }),
    agent_id: Id.meta({ description: 'Who writes it.' }),
    generation: z.int().positive().meta({ description: 'Counts the beginnings of the text, from 1.' }),
    chunk_seq: z
      .int()
      .nonnegative()
      .meta({ description: 'The last part of this generation that `text` contains; 0 for none.' }),
    text: z.string().meta({ description: 'What was written so far, as untrusted Markdown.' }),
    ...answerFields,
  })
  .meta({
    id: 'StreamState',
    description:
      'The beginning of a reply that an agent writes. Its next `message.chunk` has a higher `chunk_seq` or `generation`.',
  });
export type StreamState = z.output<typeof StreamState>;
