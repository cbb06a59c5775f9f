/** The parts of JSON Schema that values.schema.json uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: false | Schema;
  items?: Schema;
  enum?: unknown[];
  anyOf?: Schema[];
  maximum?: number;
  pattern?: string;
  required?: string[];
  definitions?: Record<string, Schema>;
}

export function resolve(root: Schema, schema: Schema): Schema {
  const name = schema.$ref?.replace('#/definitions/', '');
  if (name === undefined) return schema;
  const found = root.definitions?.[name];
  if (found === undefined) throw new Error(`unknown definition ${name}`);
  const { description = found.description } = schema;
  return resolve(root, description === undefined ? found : { ...found, description });
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Maps that count as one value each. */
const WHOLE = /(^|\.)(annotations|requests|limits)$/;

/** Dotted paths to all values. */
export function pathsOf(values: object, prefix = ''): string[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const path = `${prefix}${key}`;
    const isLeaf = !isMap(value) || Object.keys(value).length === 0 || WHOLE.test(path);
    return isLeaf ? [path] : pathsOf(value, `${path}.`);
  });
}

export function valueAt(values: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (isMap(value) ? value[key] : undefined), values);
}

/** Merges maps and replaces everything else, as helm does. */
export function merge(base: object, over: object): object {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const old = merged[key];
    merged[key] = isMap(old) && isMap(value) ? merge(old, value) : value;
  }
  return merged;
}

/** Another valid value at a path. */
export interface Change {
  path: string;
  values: object;
  /** A text that occurs only in the new value. Some types cannot have one. */
  marker?: string;
}

/** `serial` makes the change unique. */
export function changeAt(root: Schema, path: string, current: unknown, serial: number): Change {
  const keys = path.split('.');
  let schema = resolve(root, root);
  for (const key of keys) {
    const next = schema.properties?.[key];
    if (next === undefined) throw new Error(`the schema has no ${path}`);
    schema = resolve(root, next);
  }
  const other = otherValue(root, schema, current, serial);
  const values = keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), other) as object;
  const marker = [word(serial), hex(serial), String(number(serial))].find((text) =>
    JSON.stringify(other).includes(text),
  );
  return { path, values, ...(marker === undefined ? {} : { marker }) };
}

const word = (serial: number): string => `zq${serial}z`;
const number = (serial: number): number => 20_000 + serial;
const hex = (serial: number): string => number(serial).toString(16).padStart(64, 'f');

function otherValue(root: Schema, schema: Schema, current: unknown, serial: number): unknown {
  if (schema.enum !== undefined) return schema.enum.find((each) => each !== current && each !== '');
  if (schema.type === 'boolean') return current !== true;
  if (schema.type === 'integer') {
    if (number(serial) <= (schema.maximum ?? Infinity)) return number(serial);
    return Number(current) === 1 ? 2 : Number(current) - 1;
  }
  if (schema.anyOf?.[0] !== undefined) return otherValue(root, resolve(root, schema.anyOf[0]), current, serial);
  if (schema.type === 'string') return textFor(schema.pattern, serial);
  if (schema.type === 'array') return [itemOf(root, resolve(root, schema.items ?? {}), serial)];
  // Either resource quantities or a map with arbitrary keys.
  const isQuantities = typeof current === 'object' && current !== null && 'memory' in current;
  return isQuantities ? { memory: `${number(serial)}Mi` } : { changed: word(serial) };
}

function itemOf(root: Schema, schema: Schema, serial: number): unknown {
  if (schema.type !== 'object') return otherValue(root, schema, undefined, serial);
  const properties = Object.entries(schema.properties ?? { changed: { type: 'string' } });
  const fields = properties.filter(([name]) => schema.required?.includes(name) ?? true);
  return Object.fromEntries(
    fields.map(([name, each]) => [name, otherValue(root, resolve(root, each), undefined, serial)]),
  );
}

function textFor(pattern: string | undefined, serial: number): string {
  if (pattern?.includes('sha256')) return `sha256:${hex(serial)}`;
  if (pattern?.includes(String.raw`T\d{2}`)) return `${number(serial)}`.replace(/^(\d)(\d{4})$/, '$2-01-0$1T00:00:00Z');
  if (pattern?.includes(String.raw`/\d`)) return `10.${serial % 256}.0.0/16`;
  if (pattern?.includes('0-9a-f:')) return `10.96.${serial >> 8}.${serial % 256}`;
  if (pattern?.includes('mailto:')) return `mailto:${word(serial)}@example.com`;
  if (pattern?.includes('{10}')) return `ZQZQZ${number(serial)}`;
  if (pattern?.includes('https?://')) return `https://${word(serial)}.example.com`;
  if (pattern?.includes('|Ki|Mi|')) return `${number(serial)}Mi`;
  if (pattern?.includes('(h|m|s|ms)')) return `${number(serial)}s`;
  return word(serial);
}
