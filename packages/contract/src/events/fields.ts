import { z } from 'zod';
import { Id } from '../resources/primitives.js';

/** Fields that several events share. */

const workspaceId = Id.meta({ description: 'Where it happened.' });

/** Additional fields in durable events. */
export const durable = {
  workspace_id: workspaceId,
  seq: z.int().positive().meta({
    description:
      'The number of the event in its workspace, from 1. On a socket it rises and may jump: a jump is not a loss.',
  }),
};

/** Additional field in ephemeral workspace events. */
export const ephemeral = { workspace_id: workspaceId };

export interface ServerEventDefinition {
  summary: string;
  payload: z.ZodObject;
  extension?: true;
}
