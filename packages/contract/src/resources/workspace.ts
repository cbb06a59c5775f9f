import { z } from 'zod';
import { RuntimePhase, RuntimeStatus } from '../enums.js';
import { Id, Rev, Timestamp } from './primitives.js';

const LastMessagePreview = z
  .strictObject({
    text: z.string(),
    sender_name: z.string().meta({
      description: 'The name of the user or the agent; `uswarm` for a message of the role `system`.',
    }),
    timestamp: Timestamp,
  })
  .meta({ id: 'LastMessagePreview' });

const Runtime = z
  .strictObject({
    status: RuntimeStatus,
    phase: RuntimePhase,
    verified: z.boolean(),
    total_agents: z.int().nonnegative(),
    last_message_preview: LastMessagePreview.nullable(),
  })
  .meta({ id: 'Runtime' });

export const Workspace = z
  .strictObject({
    id: Id,
    name: z.string(),
    created_at: Timestamp,
    updated_at: Timestamp,
    rev: Rev.optional(),
    unread_count: z.int().nonnegative().meta({
      description: 'The number of unread messages in all conversations of the workspace.',
      'x-extension': true,
    }),
    runtime: Runtime,
  })
  .meta({ id: 'Workspace' });
export type Workspace = z.output<typeof Workspace>;

/** Used in the API documents and by tests. */
export const workspaceExample: Workspace = {
  id: '01931a5e-7c00-7000-8000-000000000001',
  name: 'My workspace',
  created_at: '2026-11-20T08:30:00.000Z',
  updated_at: '2026-11-20T08:30:04.250Z',
  rev: 70,
  unread_count: 0,
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
