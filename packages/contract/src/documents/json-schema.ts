import { z } from 'zod';
import { DOCUMENTED_AS } from '../resources/primitives.js';

interface SchemaNode {
  properties?: unknown;
  additionalProperties?: unknown;
  format?: string | undefined;
  pattern?: string | undefined;
  maximum?: number | undefined;
  minimum?: number | undefined;
  [DOCUMENTED_AS]?: unknown;
}

/** Formats that are equivalent to the pattern of zod. */
const NAMED_FORMATS = ['uuid', 'date', 'date-time'];

/**
 * Adapts a schema of zod for readers and client generators, in place. Servers validate their responses strictly; clients
 * must accept additional fields.
 */
export function relax(node: SchemaNode): void {
  const documented = node[DOCUMENTED_AS];
  if (typeof documented === 'string') refer(node, documented);
  if (node.additionalProperties === false) delete node.additionalProperties;
  // Additional fields are allowed by default; client generators create an invalid map from an explicit schema.
  if (node.properties !== undefined && isEmptyObject(node.additionalProperties)) delete node.additionalProperties;
  if (node.format !== undefined && NAMED_FORMATS.includes(node.format)) delete node.pattern;
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
}

function refer(node: SchemaNode & { description?: unknown }, name: string): void {
  const { description } = node;
  for (const key of Object.keys(node)) delete (node as JsonObject)[key];
  Object.assign(node, { $ref: `#/components/schemas/${name}`, description });
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

type JsonObject = { [key: string]: unknown };

/**
 * A document copy that tells clients what may be added: fields, also beside a reference; list values, which have
 * `x-extensible-enum`; and union variants, where the union lists its unknown variant. That variant has no entry in the
 * discriminator's mapping, because no type belongs to it.
 */
export function withOpenValues<Document>(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (_, node: unknown) => openValues(node)) as Document;
}

function openValues(node: unknown): unknown {
  if (typeof node !== 'object' || node === null) return node;
  const { enum: values, oneOf, 'x-unknown-variant': unknown } = node as JsonObject;
  if (Array.isArray(oneOf) && typeof unknown === 'string') {
    return { ...node, oneOf: [...(oneOf as unknown[]), { $ref: `#/components/schemas/${unknown}` }] };
  }
  // zod adds it beside a reference after `override`.
  if ('$ref' in node && 'additionalProperties' in node) {
    const { additionalProperties: _, ...reference } = node;
    return reference;
  }
  const isList = Array.isArray(values) && (node as JsonObject)['type'] === 'string';
  return isList ? { ...node, 'x-extensible-enum': values as unknown[] } : node;
}

/**
 * Copies a document and replaces `anyOf` of plain types, such as nullable values, by a type list like `["string", "null"]`:
 * client generators create an optional field from a type, but some create a class from a union.
 * Nullable references and unions stay unions.
 */
export function withPlainUnions<Document>(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (_, node: unknown) => plainUnion(node)) as Document;
}

function plainUnion(node: unknown): unknown {
  if (typeof node !== 'object' || node === null) return node;
  const { anyOf, ...rest } = node as JsonObject;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return node;
  const variants = (anyOf as JsonObject[]).toSorted(
    (a, b) => Number(a['type'] === 'null') - Number(b['type'] === 'null'),
  );
  const types = variants.map(({ type }) => type);
  const plain = variants.every(
    (variant) => typeof variant['type'] === 'string' && !('enum' in variant || 'const' in variant),
  );
  // The keywords of one type do not apply to the others.
  return plain && new Set(types).size === types.length
    ? { ...rest, ...Object.assign({}, ...variants), type: types }
    : node;
}

export interface HoistedSchema {
  schema: JsonObject;
  /** The named schemas that `schema` refers to, by id. */
  components: Record<string, JsonObject>;
}

const LOCAL = '#/definitions/';

/**
 * Converts a zod schema to JSON Schema (draft 7, for AsyncAPI). Named parts, including the schema itself, become references
 * to `#/components/schemas/`.
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
    override: ({ jsonSchema, zodSchema }) => {
      relax(jsonSchema as SchemaNode);
      wrapReference(jsonSchema as JsonObject);
      discriminate(jsonSchema as JsonObject, zodSchema);
    },
  }) as JsonObject;
  const components: Record<string, JsonObject> = {};
  for (const [name, definition] of Object.entries((definitions ?? {}) as Record<string, JsonObject>)) {
    components[name] = pointAtComponents(withoutId(definition));
  }
  if (typeof id !== 'string') return { schema: pointAtComponents(root), components };
  components[id] = pointAtComponents(root);
  return { schema: { $ref: `#/components/schemas/${id}` }, components };
}

/** Draft 7 ignores what is beside a reference. */
function wrapReference(node: JsonObject): void {
  const { $ref, description } = node;
  if ($ref === undefined || description === undefined) return;
  delete node['$ref'];
  node['allOf'] = [{ $ref }];
}

/**
 * Adds a union's discriminator. In AsyncAPI it is only a field name, so the classes are in an extension, in the format
 * of OpenAPI's `mapping`.
 */
function discriminate(node: JsonObject, schema: unknown): void {
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return;
  const field = schema.def.discriminator;
  const variants = schema.options.map((option) => {
    const value = (option as z.ZodObject).shape[field] as z.ZodLiteral;
    return [String(value.value), `#/components/schemas/${z.globalRegistry.get(option)?.id}`] as const;
  });
  node['discriminator'] = field;
  node['x-discriminator-mapping'] = Object.fromEntries(variants);
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
