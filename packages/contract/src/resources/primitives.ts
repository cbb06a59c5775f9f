import { z } from 'zod';

/** Ends the description of a strict request body. */
export const STRICT = 'Unknown fields are refused.';

/** Responses contain lower-case UUIDv7. Each field describes what it identifies. */
export const Id = z.uuid().meta({ description: 'Lower-case UUID.' });

/** Marks a schema that the documents replace by the named one: a service accepts more than clients should send. */
export const DOCUMENTED_AS = 'x-documented-as';

/** Responses contain ISO 8601 in UTC with milliseconds. */
export const Timestamp = z.iso.datetime({ offset: true });

/** Identifies a database history: it differs after a failover or a restore that may have lost writes. */
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
export const Period = z
  .string()
  .regex(/^\d{4}-\d{2}$/)
  .meta({ description: 'Year and month in UTC that the numbers belong to, such as `2026-11`.' });

/** By name, because two schemas in a document cannot have the same name. */
const envelopes = new Map<string, unknown>();

/**
 * Most successful responses are `{data: …}`. Client generators name classes after schemas, so an envelope is named after its
 * content: `AgentToolEnvelope` has one tool, `AgentToolList` all of them.
 */
export function data<Schema extends z.ZodType>(schema: Schema): z.ZodObject<{ data: Schema }, z.core.$strict> {
  const list = schema instanceof z.ZodArray;
  const content = list ? (schema.element as z.ZodType).meta()?.id : schema.meta()?.id;
  if (content === undefined) throw new Error('The content of an envelope needs an id');
  const id = `${content}${list ? 'List' : 'Envelope'}`;
  const envelope = envelopes.get(id) ?? namedEnvelope(id, content, list, schema);
  envelopes.set(id, envelope);
  return envelope as z.ZodObject<{ data: Schema }, z.core.$strict>;
}

function namedEnvelope(id: string, content: string, list: boolean, schema: z.ZodType) {
  const description = list
    ? `A complete list, without pages, of items with the schema \`${content}\`.`
    : `A response whose result has the schema \`${content}\`.`;
  const result = schema.meta({
    description: list
      ? 'All items, in the order that the operation states; empty if there are none.'
      : 'The resource that was requested, created or changed.',
  });
  return z.strictObject({ data: result }).meta({ id, description });
}
