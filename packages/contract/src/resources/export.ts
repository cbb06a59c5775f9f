import { z } from 'zod';
import { Timestamp } from './primitives.js';

export const EXPORT_STATUSES = ['pending', 'running', 'ready', 'failed'] as const;
export type ExportStatus = (typeof EXPORT_STATUSES)[number];

export const Export = z
  .strictObject({
    id: z.uuid().meta({ description: 'Identifies the archive in the other routes.' }),
    status: z.enum(EXPORT_STATUSES).meta({
      description: '`pending` and `running` need time; `ready` can be downloaded; after `failed`, start another one.',
    }),
    workspace_id: z.uuid().nullable().meta({
      description: 'The workspace in the file; null for an archive with all data of the user.',
    }),
    created_at: Timestamp.meta({ description: 'When the user asked for it.' }),
    expires_at: Timestamp.nullable().meta({ description: 'When the archive is deleted; null until it is ready.' }),
    size: z
      .int()
      .nonnegative()
      .nullable()
      .meta({ description: 'The size of the archive in bytes; null until it is ready.' }),
    url: z.string().nullable().meta({
      description:
        'A link that anyone can download the archive with, for 15 to 30 minutes; null until the archive is ready.',
    }),
  })
  .meta({ id: 'Export', description: 'An archive with all data of the user, or the file of a workspace.' });
export type Export = z.output<typeof Export>;
