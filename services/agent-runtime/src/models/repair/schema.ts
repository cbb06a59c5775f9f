import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json } from './json.js';

// The part of JSON Schema that tells which type a value must have.

/** A schema with the document that its references are relative to. */
export interface Schema {
  fields: Json;
  root: Json;
}

const MAX_REFERENCES = 20;

/** The schema without references; undefined accepts anything. */
export function schemaOf(value: unknown, root: Json): Schema | undefined {
  let current = value;
  for (let count = 0; isObject(current) && typeof current['$ref'] === 'string' && count < MAX_REFERENCES; count += 1) {
    const path = current['$ref'].replace(/^#\/?/, '').split('/').filter(Boolean);
    current = path.reduce<unknown>((at, key) => {
      const name = decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~');
      return isObject(at) ? at[name] : undefined;
    }, root);
  }
  return isObject(current) ? { fields: current, root } : undefined;
}

const schemas = (value: unknown, root: Json): (Schema | undefined)[] =>
  Array.isArray(value) ? value.map((one) => schemaOf(one, root)) : [];

/** The schemas of which a value must match one; empty without a choice. */
export const choicesOf = ({ fields, root }: Schema): (Schema | undefined)[] =>
  schemas(fields['anyOf'] ?? fields['oneOf'], root);

/** The schemas that a value must match besides. */
export const partsOf = ({ fields, root }: Schema): (Schema | undefined)[] => schemas(fields['allOf'], root);

/** A property's schema; undefined accepts anything. */
export function propertyOf({ fields, root }: Schema, name: string): Schema | undefined {
  const { properties, additionalProperties } = fields;
  const isKnown = isObject(properties) && Object.hasOwn(properties, name);
  return schemaOf(isKnown ? properties[name] : additionalProperties, root);
}

export const propertyNames = ({ fields: { properties } }: Schema): string[] =>
  isObject(properties) ? Object.keys(properties) : [];

export const requiredNames = ({ fields: { required } }: Schema): string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];

/** A list entry's schema. */
export function entryOf({ fields, root }: Schema, index: number): Schema | undefined {
  const { prefixItems, items } = fields;
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  return schemaOf(index < first.length ? first[index] : items, root);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The types that the schema names itself; undefined for any. */
export function typesOf({ fields: { type, nullable } }: Schema): readonly unknown[] | undefined {
  if (type === undefined) return undefined;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return nullable === true ? [...types, 'null'] : types;
}

/** The only values that the schema allows; undefined for any. */
export function valuesOf({ fields }: Schema): readonly unknown[] | undefined {
  if (Object.hasOwn(fields, 'const')) return [fields['const']];
  return Array.isArray(fields['enum']) ? fields['enum'] : undefined;
}

function hasType(schema: Schema, value: unknown): boolean {
  const types = typesOf(schema);
  if (types === undefined) return true;
  return types.includes(typeOf(value)) || (types.includes('integer') && Number.isInteger(value));
}

/** Returns true if all nested types match the schema. Limits and patterns do not count. */
export function accepts(schema: Schema | undefined, value: unknown): boolean {
  if (schema === undefined) return true;
  const values = valuesOf(schema);
  if (!hasType(schema, value)) return false;
  if (values !== undefined && !values.some((one) => isDeepStrictEqual(one, value))) {
    return value === null && schema.fields['nullable'] === true;
  }
  const choices = choicesOf(schema);
  if (choices.length > 0 && !choices.some((one) => accepts(one, value))) return false;
  if (!partsOf(schema).every((one) => accepts(one, value))) return false;
  if (Array.isArray(value)) return value.every((entry, index) => accepts(entryOf(schema, index), entry));
  if (!isObject(value)) return true;
  if (requiredNames(schema).some((name) => value[name] === undefined)) return false;
  const known = new Set(propertyNames(schema));
  return Object.entries(value).every(
    ([name, entry]) =>
      (known.has(name) || schema.fields['additionalProperties'] !== false) && accepts(propertyOf(schema, name), entry),
  );
}
