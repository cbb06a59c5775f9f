export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const withoutNulls = (object: Json): Json =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));

/** Also within the values. Depth is bounded by the parser. */
export function withoutNullsIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNullsIn);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(withoutNulls(value)).map(([key, item]) => [key, withoutNullsIn(item)]));
}

/** The named fields that are of this type. */
export const fieldsOfType = (object: Json, type: 'string' | 'boolean', names: readonly string[]): Json =>
  Object.fromEntries(names.flatMap((name) => (typeof object[name] === type ? [[name, object[name]]] : [])));
