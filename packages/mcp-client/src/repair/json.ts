export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const withoutNulls = (object: Json): Json =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));

/** The named fields that are of this type. */
export const fieldsOfType = (object: Json, type: 'string' | 'boolean', names: readonly string[]): Json =>
  Object.fromEntries(names.flatMap((name) => (typeof object[name] === type ? [[name, object[name]]] : [])));
