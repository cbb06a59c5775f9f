import { isDeepStrictEqual } from 'node:util';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** A deep copy as after a transfer over the network: without undefined fields. */
export const wire = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** Ignores the order of keys. */
export const equal = (left: unknown, right: unknown): boolean => isDeepStrictEqual(left, right);

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7386, as in `kubectl patch --type=merge`: null deletes a field. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}
