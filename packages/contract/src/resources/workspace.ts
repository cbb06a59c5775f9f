import { z } from 'zod';
import { RuntimePhase, RuntimeStatus } from '../enums.js';
import { Id, Rev, Timestamp } from './primitives.js';

const LastMessagePreview = z
  .strictObject({
    text: z
      .string()
      .meta({ description: 'The beginning of the message in one line of plain text, up to 200 characters.' }),
    sender_name: z.string().meta({
      description: 'The name of the user or the agent; `uswarm` for a message of the role `system`.',
    }),
    timestamp: Timestamp.meta({ description: 'When the message was stored.' }),
  })
  .meta({ id: 'LastMessagePreview', description: 'The newest message of a workspace, for a list.' });

const Runtime = z
  .strictObject({
    status: RuntimeStatus.meta({ description: 'Whether the agents can answer now.' }),
    phase: RuntimePhase.meta({ description: 'The coarse state behind `status`, for support pages.' }),
    verified: z
      .boolean()
      .meta({ description: 'Whether the service has talked with the present runtime and recognised it.' }),
    total_agents: z.int().nonnegative().meta({ description: 'How many agents work in the workspace.' }),
    last_message_preview: LastMessagePreview.nullable().meta({
      description: 'The newest message of all conversations; null if there is none.',
    }),
  })
  .meta({ id: 'Runtime', description: 'What runs the agents of a workspace.' });

export const Workspace = z
  .strictObject({
    id: Id.meta({ description: 'Identifies the workspace in paths and events.' }),
    name: z.string().meta({ description: 'What the user calls it, 1 to 100 characters.' }),
    created_at: Timestamp.meta({ description: 'When the user created it.' }),
    updated_at: Timestamp.meta({ description: 'When it or the state of its runtime last changed; for display only.' }),
    rev: Rev.optional(),
    unread_count: z.int().nonnegative().meta({
      description: 'The number of unread messages in all conversations of the workspace.',
      'x-extension': true,
    }),
    agents_rev: z.int().nonnegative().optional().meta({
      description:
        'Changes when an agent is added, renamed, described or deleted: then load the list of agents again. Compare only for equality.',
      'x-extension': true,
    }),
    runtime: Runtime.meta({ description: 'What runs the agents, and whether they can answer.' }),
  })
  .meta({
    id: 'Workspace',
    description: 'A place with its own agents, conversations and memories, which one user owns.',
  });
export type Workspace = z.output<typeof Workspace>;

/** Used in the API documents and by tests. */
export const workspaceExample: Workspace = {
  id: '01931a5e-7c00-7000-8000-000000000001',
  name: 'My workspace',
  created_at: '2026-11-20T08:30:00.000Z',
  updated_at: '2026-11-20T08:30:04.250Z',
  rev: 70,
  unread_count: 0,
  agents_rev: 0,
  runtime: {
    status: 'ready',
    phase: 'Ready',
    verified: true,
    total_agents: 5,
    last_message_preview: {
      text: 'what is on my list?',
      sender_name: 'Ada',
      timestamp: '2026-11-20T08:30:04.250Z',
    },
  },
};
