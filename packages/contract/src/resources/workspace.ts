import { z } from 'zod';
import { RuntimePhase, RuntimeStatus } from '../enums.js';
import { Id, Timestamp } from './primitives.js';

export const LastMessagePreview = z
  .strictObject({ text: z.string(), sender_name: z.string(), timestamp: Timestamp })
  .meta({ id: 'LastMessagePreview' });

export const Runtime = z
  .strictObject({
    status: RuntimeStatus,
    phase: RuntimePhase,
    verified: z.boolean(),
    total_agents: z.int().nonnegative(),
    last_message_preview: LastMessagePreview.nullable(),
  })
  .meta({ id: 'Runtime' });
export type Runtime = z.output<typeof Runtime>;

export const Workspace = z
  .strictObject({
    id: Id,
    name: z.string(),
    created_at: Timestamp,
    updated_at: Timestamp,
    unread_count: z.int().nonnegative().meta({
      description: 'The number of unread messages in all conversations of the workspace.',
      'x-extension': true,
    }),
    runtime: Runtime,
  })
  .meta({ id: 'Workspace' });
export type Workspace = z.output<typeof Workspace>;
