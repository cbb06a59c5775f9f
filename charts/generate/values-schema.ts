import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { isMap, isScalar, isSeq, type Pair, parse, parseDocument, type YAMLMap } from 'yaml';

type Json = Record<string, unknown>;

interface Overlay {
  definitions: Record<string, Json>;
  /** By a path's last key. */
  keys: Record<string, Json | string>;
  /** By path. */
  values: Record<string, Json | string>;
}

/**
 * JSON schema for a chart's values: structure, types and descriptions from values.yaml, everything else from the
 * overlay. Unknown keys are rejected. helm-tool would do the first part, but it drops map descriptions and closes maps
 * such as resource limits, so most of its schema would have to be replaced.
 * @throws Error if the overlay names a value that does not exist
 */
export function valuesSchema(title: string, valuesYaml: string, overlayYaml: string): Json {
  const { definitions, keys, values } = parse(overlayYaml) as Overlay;
  const unused = new Set([...Object.keys(keys), ...Object.keys(values)]);

  const constraintOf = (path: string, key: string): Json | undefined => {
    const name = path in values ? path : key;
    const found = values[path] ?? keys[key];
    if (found !== undefined) unused.delete(name);
    return typeof found === 'string' ? { $ref: `#/definitions/${found}` } : found;
  };

  const properties = (map: YAMLMap, prefix: string): Json => {
    const entries = map.items.map((pair, index): [string, Json] => {
      const key = String(isScalar(pair.key) ? pair.key.value : pair.key);
      // The comment before a map's first key is attached to the map.
      const comment =
        (index === 0 ? map.commentBefore : undefined) ?? (pair.key as { commentBefore?: string }).commentBefore;
      return [key, property(pair, `${prefix}${key}`, key, descriptionOf(comment))];
    });
    return Object.fromEntries(entries);
  };

  const property = ({ value }: Pair, path: string, key: string, description: Json): Json => {
    const constraint = constraintOf(path, key);
    if (isMap(value) && value.items.length > 0 && constraint === undefined) {
      return { ...description, ...closed(properties(value, `${path}.`)) };
    }
    const isTyped = constraint !== undefined && ['$ref', 'anyOf', 'enum'].some((each) => each in constraint);
    return { ...description, ...(isTyped ? {} : { type: typeOf(value) }), ...constraint };
  };

  const root = parseDocument(valuesYaml).contents as YAMLMap;
  const global: Json = { description: 'Values of parent charts, which this chart ignores.', type: 'object' };
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title,
    definitions,
    ...closed({ global, ...properties(root, '') }),
  };
  if (unused.size > 0) throw new Error(`values.yaml has no ${[...unused].join(', ')}`);
  return schema;
}

const closed = (properties: Json): Json => ({ type: 'object', additionalProperties: false, properties });

/** A comment's last paragraph, without the `--` that marks it for helm-docs. */
function descriptionOf(comment: string | undefined): Json {
  const lines = comment?.split('\n\n').at(-1)?.split('\n') ?? [];
  const description = lines.map((line) => line.trim().replace(/^-- /, '')).join(' ');
  return description === '' ? {} : { description };
}

function typeOf(value: unknown): string {
  if (isMap(value)) return 'object';
  if (isSeq(value)) return 'array';
  const scalar = isScalar(value) ? value.value : undefined;
  return typeof scalar === 'number' ? 'integer' : typeof scalar;
}

/** The text for values.schema.json in a chart folder. */
export async function chartSchema(chart: string): Promise<string> {
  const values = await readFile(`${chart}/values.yaml`, 'utf8');
  const overlay = await readFile(`${chart}/values.schema.overlay.yaml`, 'utf8');
  return `${JSON.stringify(valuesSchema('Values of the uswarm chart', values, overlay), undefined, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const chart = fileURLToPath(new URL('../uswarm', import.meta.url));
  await writeFile(`${chart}/values.schema.json`, await chartSchema(chart));
}
