import { z } from 'zod';
import { AttachmentType } from '../enums.js';
import { Id } from './primitives.js';

export const Attachment = z
  .strictObject({
    id: Id,
    url: z.string(),
    type: AttachmentType,
    name: z.string(),
    size: z.int().nonnegative(),
    mime_type: z.string(),
    duration: z.int().nonnegative().nullable().meta({
      description: 'Seconds of audio and video, rounded; null for other files and if the file does not show it.',
    }),
  })
  .meta({ id: 'Attachment' });
export type Attachment = z.output<typeof Attachment>;
