import { z } from 'zod';

/** For a strict body of a request. */
export const STRICT = { description: 'Unknown fields are refused.' } as const;

/** Responses contain lower-case UUIDv7. */
export const Id = z.uuid().meta({ description: 'Lower-case UUID.' });

/** Responses contain ISO 8601 in UTC with milliseconds. */
export const Timestamp = z.iso.datetime({ offset: true });

/** Identifies a history of the database: it differs after a failover or a restore that may have lost writes. */
export const Epoch = z
  .string()
  .regex(/^[a-z0-9]{1,32}$/)
  .meta({ description: 'Identifies the history that sequences belong to. After it changes, reload the workspace.' });

/** A sequence with its epoch, as in `X-Workspace-Position`. */
export const EpochSeq = z.string().regex(/^[a-z0-9]{1,32}:(?:0|[1-9]\d{0,15})$/, 'must be epoch:seq');

/** Extension: the sequence of the last event that changed a resource. */
export const Rev = z
  .int()
  .nonnegative()
  .meta({
    description:
      'The sequence of the last event that changed the resource. Replace a copy only by one with a higher `rev`, from an event or a ' +
      'response.',
    'x-extension': true,
  });

/** Year and month, as in `2026-11`. */
export const Period = z.string().regex(/^\d{4}-\d{2}$/);

/** Most successful responses are `{data: …}`. */
export function data<Schema extends z.ZodType>(schema: Schema) {
  return z.strictObject({ data: schema });
}
