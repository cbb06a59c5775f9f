import { z } from 'zod';
import { Timestamp } from './primitives.js';

export const EXPORT_STATUSES = ['pending', 'running', 'ready', 'failed'] as const;
export type ExportStatus = (typeof EXPORT_STATUSES)[number];

/** An archive with all data of the caller. An extension. */
export const Export = z
  .strictObject({
    id: z.uuid(),
    status: z.enum(EXPORT_STATUSES),
    created_at: Timestamp,
    expires_at: Timestamp.nullable().meta({ description: 'When the archive is deleted; null until it is ready.' }),
    size: z
      .int()
      .nonnegative()
      .nullable()
      .meta({ description: 'The size of the archive in bytes; null until it is ready.' }),
    url: z
      .string()
      .nullable()
      .meta({ description: 'A download link that is valid for 15 minutes; null until the archive is ready.' }),
  })
  .meta({ id: 'Export' });
export type Export = z.output<typeof Export>;
