import { z } from 'zod';

/** Responses contain lower-case UUIDv7. */
export const Id = z.uuid().meta({ description: 'Lower-case UUID.' });

/** Responses contain ISO 8601 in UTC with milliseconds. */
export const Timestamp = z.iso.datetime({ offset: true });

/** Year and month, as in `2026-11`. */
export const Period = z.string().regex(/^\d{4}-\d{2}$/);

/** Most successful responses are `{data: …}`. */
export function data<Schema extends z.ZodType>(schema: Schema) {
  return z.strictObject({ data: schema });
}
