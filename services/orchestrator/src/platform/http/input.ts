import { ApiError, exceedsDepth, LIMITS, safeParseRequest, validationError } from '@uswarm/contract';
import { NUL } from '@uswarm/service-kit';
import type { z } from 'zod';

/** @throws ApiError `validation_failed` */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  // Checked first, because schemas, logs and serialization recurse.
  if (exceedsDepth(value, LIMITS.jsonDepth)) {
    const field = { path: '', message: `must not be nested deeper than ${LIMITS.jsonDepth} levels` };
    throw new ApiError('validation_failed', { extra: { fields: [field] } });
  }
  const result = safeParseRequest(schema, value);
  if (!result.success) throw validationError(result.error);
  const path = malformedText(result.data);
  if (path === undefined) return result.data;
  throw new ApiError('validation_failed', {
    extra: { fields: [{ path: path.join('.'), message: 'is not well-formed text' }] },
  });
}

/** Finds the first string that Postgres cannot store: one with a NUL or a lone surrogate. */
function malformedText(value: unknown): string[] | undefined {
  if (typeof value === 'string') return value.includes(NUL) || !value.isWellFormed() ? [] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, part] of Object.entries(value)) {
    const path = malformedText(part);
    if (path !== undefined) return [name, ...path];
  }
  return undefined;
}
