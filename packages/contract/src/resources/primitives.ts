import { z } from 'zod';

/** Lower-case UUIDv7 in what we send. */
export const Id = z.uuid().meta({ description: 'Lower-case UUID.' });

/** ISO 8601 in UTC with milliseconds in what we send. */
export const Timestamp = z.iso.datetime({ offset: true });

/** Year and month, as in `2026-11`. */
export const Period = z.string().regex(/^\d{4}-\d{2}$/);

/** Most successful answers are `{data: …}`. */
export function data<Schema extends z.ZodType>(schema: Schema) {
  return z.strictObject({ data: schema });
}
