import { z } from 'zod';

interface SchemaNode {
  additionalProperties?: unknown;
  format?: string | undefined;
  pattern?: string | undefined;
  maximum?: number | undefined;
  minimum?: number | undefined;
}

/** Formats that say all that zod's pattern says, in a word. */
const NAMED_FORMATS = ['uuid', 'date', 'date-time'];

/**
 * Makes a schema that zod generated fit for readers and client generators, in place.
 * Servers check strictly what they send; clients must not, or no field could ever be added.
 */
export function relax(node: SchemaNode): void {
  if (node.additionalProperties === false) delete node.additionalProperties;
  if (node.format !== undefined && NAMED_FORMATS.includes(node.format)) delete node.pattern;
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
}

type JsonObject = { [key: string]: unknown };

export interface HoistedSchema {
  schema: JsonObject;
  /** The named schemas that `schema` refers to, by id. */
  components: Record<string, JsonObject>;
}

const LOCAL = '#/definitions/';

/**
 * A zod schema as JSON Schema (draft 7, what AsyncAPI speaks) whose named parts are references to
 * `#/components/schemas/`. A schema that has an id itself becomes such a reference.
 */
export function hoistedSchema(schema: z.ZodType, io: 'input' | 'output'): HoistedSchema {
  const {
    $schema: _,
    definitions,
    id,
    ...root
  } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io,
    override: ({ jsonSchema }) => relax(jsonSchema as SchemaNode),
  }) as JsonObject;
  const components: Record<string, JsonObject> = {};
  for (const [name, definition] of Object.entries((definitions ?? {}) as Record<string, JsonObject>)) {
    components[name] = pointAtComponents(withoutId(definition));
  }
  if (typeof id !== 'string') return { schema: pointAtComponents(root), components };
  components[id] = pointAtComponents(root);
  return { schema: { $ref: `#/components/schemas/${id}` }, components };
}

function withoutId({ id: _, ...rest }: JsonObject): JsonObject {
  return rest;
}

function pointAtComponents(node: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(node), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' && value.startsWith(LOCAL)
      ? `#/components/schemas/${value.slice(LOCAL.length)}`
      : value,
  ) as JsonObject;
}
