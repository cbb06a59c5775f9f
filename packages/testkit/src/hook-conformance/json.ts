import { isDeepStrictEqual } from 'node:util';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** A copy that shares nothing, as if it had been sent over a wire: what is undefined is gone. */
export const wire = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** Equal whatever the order of keys. */
export const equal = (left: unknown, right: unknown): boolean => isDeepStrictEqual(left, right);

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7386, as `kubectl patch --type=merge` sends it: null removes. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}
