import { describe, expect, it } from '@jest/globals';
import { userSwarmCrd } from './crd.js';
import type { StructuralSchema } from './structural-schema.js';

/** Keywords that a structural schema must not have, or that we exclude. */
const REFUSED = ['$ref', '$schema', 'anyOf', 'oneOf', 'allOf', 'not', 'additionalProperties', 'title', 'const'];
/** Defined and bounded by the API server. */
const BUILT_IN = ['apiVersion', 'kind', 'metadata'];

function faultsOf(node: StructuralSchema): string[] {
  const missing = (keyword: string): string[] => (node[keyword] === undefined ? [`no ${keyword}`] : []);
  const refused = REFUSED.filter((keyword) => keyword in node).map((keyword) => `has ${keyword}`);
  if (node['x-kubernetes-int-or-string'] === true) return [...refused, ...missing('maxLength')];
  switch (node.type) {
    case 'string':
      return [...refused, ...(node['enum'] === undefined ? missing('maxLength') : [])];
    case 'array':
      return [...refused, ...missing('maxItems'), ...missing('x-kubernetes-list-type')];
    case 'integer':
      return [...refused, ...missing('minimum'), ...missing('maximum'), ...missing('format')];
    case 'object':
      return [...refused, ...(node.properties === undefined ? ['open'] : [])];
    case 'boolean':
      return refused;
    default:
      return [...refused, `has type ${node.type}`];
  }
}

/** All faults in a schema, as `path: fault`. */
function* faults(node: StructuralSchema, path: string): Generator<string> {
  yield* faultsOf(node).map((fault) => `${path}: ${fault}`);
  for (const [name, property] of Object.entries(node.properties ?? {})) {
    if (property.description === undefined) yield `${path}.${name}: no description`;
    yield* faults(property, `${path}.${name}`);
  }
  if (node.items !== undefined) yield* faults(node.items, `${path}[]`);
}

const schema = userSwarmCrd().spec.versions[0]!.schema.openAPIV3Schema;
const ours = Object.entries(schema.properties!).filter(([name]) => !BUILT_IN.includes(name));

describe('the schema of the CRD', () => {
  it.each(ours)('bounds every string, array and number of %s, and describes every field', (name, node) => {
    expect([...faults(node, name)]).toEqual([]);
  });

  it('has only spec and status', () => {
    expect(ours.map(([name]) => name)).toEqual(['spec', 'status']);
  });

  it('has 32-bit integers except for generations, which have 64 bits in Kubernetes', () => {
    const formats = [...integers(schema, '')].map(([path, { format }]) => `${path} ${format}`);
    expect(formats).toEqual([
      '.spec.runtime.port int32',
      '.status.observedGeneration int64',
      '.status.conditions[].observedGeneration int64',
    ]);
  });
});

describe('the check of a schema', () => {
  const described = { description: 'x' };
  it.each<[string, StructuralSchema]>([
    ['no maxLength', { type: 'string' }],
    ['no maxLength', { 'x-kubernetes-int-or-string': true }],
    ['no maxItems', { type: 'array', 'x-kubernetes-list-type': 'atomic', items: { type: 'boolean' } }],
    ['no x-kubernetes-list-type', { type: 'array', maxItems: 1, items: { type: 'boolean' } }],
    ['no maximum', { type: 'integer', minimum: 0, format: 'int32' }],
    ['open', { type: 'object' }],
    ['has anyOf', { type: 'string', maxLength: 1, anyOf: [] }],
    ['has type number', { type: 'number' }],
  ])('reports: %s', (fault, node) => {
    const inside = { type: 'object', properties: { list: { ...described, type: 'array', maxItems: 1, items: node } } };
    expect([...faults(inside, 'x')]).toContain(`x.list[]: ${fault}`);
  });

  it('reports a field without a description', () => {
    const inside = { type: 'object', properties: { flag: { type: 'boolean' } } };
    expect([...faults(inside, 'x')]).toEqual(['x.flag: no description']);
  });
});

function* integers(node: StructuralSchema, path: string): Generator<[string, StructuralSchema]> {
  if (node.type === 'integer') yield [path, node];
  for (const [name, property] of Object.entries(node.properties ?? {})) yield* integers(property, `${path}.${name}`);
  if (node.items !== undefined) yield* integers(node.items, `${path}[]`);
}
