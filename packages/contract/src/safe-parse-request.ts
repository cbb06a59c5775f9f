import type { z } from 'zod';

/** A subset of the zod issue. In a union, a variant's path starts at the union. */
interface Issue {
  path: readonly PropertyKey[];
  errors?: readonly (readonly Issue[])[] | undefined;
}
/** The places that issues refer to. */
interface Places extends Map<PropertyKey, Places> {}

/**
 * `safeParse` for data from a client or a model: a null that the schema refuses counts as an absent field, because
 * encoders in Swift and Kotlin, and models, write null for fields that are not set. Where a schema accepts null, null
 * keeps its meaning, which the field's description states. A list entry is not a field: a null there is refused.
 */
export function safeParseRequest<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  const result = schema.safeParse(value);
  if (result.success) return result;
  const rest = withoutNulls(value, placesOf(result.error.issues));
  return rest === value ? result : safeParseRequest(schema, rest);
}

function placesOf(issues: readonly Issue[], root: Places = new Map()): Places {
  for (const { path, errors = [] } of issues) {
    let at = root;
    for (const key of path) {
      const next: Places = at.get(key) ?? new Map();
      at.set(key, next);
      at = next;
    }
    for (const inner of errors) placesOf(inner, at);
  }
  return root;
}

/** A copy without the fields at these places that are null; the value itself if there are none. */
function withoutNulls(value: unknown, places: Places): unknown {
  if (typeof value !== 'object' || value === null || places.size === 0) return value;
  let isChanged = false;
  const kept = Object.entries(value).flatMap(([key, field]: [string, unknown]) => {
    const inner = places.get(Array.isArray(value) ? Number(key) : key);
    if (inner === undefined) return [[key, field] as const];
    if (field === null && !Array.isArray(value)) {
      isChanged = true;
      return [];
    }
    const rest = withoutNulls(field, inner);
    isChanged ||= rest !== field;
    return [[key, rest] as const];
  });
  if (!isChanged) return value;
  return Array.isArray(value) ? kept.map(([, field]) => field) : Object.fromEntries(kept);
}
