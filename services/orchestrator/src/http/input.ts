import { ApiError, exceedsDepth, LIMITS, validationError } from '@uswarm/contract';
import type { z } from 'zod';

/** Checks what a caller sent against its schema. @throws ApiError `validation_failed` */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  // First of all: schemas, logs and serialisation recurse.
  if (exceedsDepth(value, LIMITS.jsonDepth)) {
    const field = { path: '', message: `must not be nested deeper than ${LIMITS.jsonDepth} levels` };
    throw new ApiError('validation_failed', { extra: { fields: [field] } });
  }
  const result = schema.safeParse(value);
  if (!result.success) throw validationError(result.error);
  const path = malformedText(result.data);
  if (path === undefined) return result.data;
  throw new ApiError('validation_failed', {
    extra: { fields: [{ path: path.join('.'), message: 'is not well-formed text' }] },
  });
}

/** Where the first text is that cannot be stored: Postgres keeps no NUL, and a lone surrogate is no text. */
function malformedText(value: unknown): string[] | undefined {
  if (typeof value === 'string') return value.includes('\u0000') || !value.isWellFormed() ? [] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, part] of Object.entries(value)) {
    const path = malformedText(part);
    if (path !== undefined) return [name, ...path];
  }
  return undefined;
}
