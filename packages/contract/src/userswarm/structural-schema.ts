import { z } from 'zod';

/** The used part of apiextensions/v1 JSONSchemaProps. */
export interface StructuralSchema {
  type?: string;
  description?: string;
  format?: string;
  default?: unknown;
  properties?: Record<string, StructuralSchema>;
  required?: string[];
  items?: StructuralSchema;
  [keyword: string]: unknown;
}

/** Keywords of JSON Schema that a CRD must not have: the API server prunes undeclared fields. */
const DROPPED = ['$schema', 'additionalProperties'];

/** A schema's first keys. Others follow in their order, nested schemas last. */
const FIRST = ['description', 'type', 'format', 'default'];
const LAST = ['x-kubernetes-validations', 'required', 'properties', 'items'];

const INT32 = 2 ** 31;

/**
 * Converts a zod schema's input side to a structural schema for a CustomResourceDefinition. A test rejects keywords
 * that the API server does not accept (`anyOf`, `$ref`).
 */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return structural(z.toJSONSchema(schema, { target: 'draft-7', io: 'input' }) as StructuralSchema);
}

const rank = (keyword: string): number => {
  if (FIRST.includes(keyword)) return FIRST.indexOf(keyword) - FIRST.length;
  return LAST.indexOf(keyword) + 1;
};

function ordered(node: StructuralSchema): StructuralSchema {
  return Object.fromEntries(Object.entries(node).toSorted(([a], [b]) => rank(a) - rank(b)));
}

function structural(node: StructuralSchema): StructuralSchema {
  const kept = Object.entries(node).filter(([keyword]) => !DROPPED.includes(keyword));
  const result: StructuralSchema = Object.fromEntries(kept);
  if (node['x-kubernetes-int-or-string'] === true) return ordered(intOrString(result));
  if (node.type === 'integer') result.format = isInt32(node) ? 'int32' : 'int64';
  if (node.items !== undefined) result.items = structural(node.items);
  if (node.properties !== undefined) {
    result.properties = Object.fromEntries(
      Object.entries(node.properties).map(([name, property]) => [name, structural(property)]),
    );
  }
  return ordered(result);
}

/** An int-or-string has no type; only the string length can be limited. */
function intOrString({ anyOf, ...node }: StructuralSchema): StructuralSchema {
  const string = (anyOf as StructuralSchema[]).find(({ type }) => type === 'string');
  return { ...node, maxLength: string?.['maxLength'] };
}

function isInt32({ minimum, maximum }: StructuralSchema): boolean {
  return (minimum as number) >= -INT32 && (maximum as number) < INT32;
}
