import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { REASON_ADVICE } from './advice.js';
import { CONDITIONS, FAILURE_REASONS, PHASES, SYNC_FAILURES } from './conditions.js';
import { userSwarmCrd } from './crd.js';
import { withReasonTables } from './reason-tables.js';
import type { StructuralSchema } from './structural-schema.js';

// Compares the fields and reasons in docs/userswarm.md with the contract.

const schema = userSwarmCrd().spec.versions[0]!.schema.openAPIV3Schema;
/** Cells per row, in a table whose first cell is code. */
let rows: string[][];
let text: string;
beforeAll(async () => {
  text = await readFile(new URL('../../../../docs/userswarm.md', import.meta.url), 'utf8');
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  rows = text
    .split('\n')
    .filter((line) => /^\| *`/.test(line))
    .map(cells);
});

const rowsOf = (width: number): string[][] => rows.filter((row) => row.length === width);
const firstOf = (row: string[]): string => row[0]!.replaceAll('`', '');

function* leavesOf(node: StructuralSchema, path: string, required: boolean): Generator<string[]> {
  if (node.properties === undefined) yield [path, typeOf(node), defaultOf(node, required)];
  for (const [name, property] of Object.entries(node.properties ?? {})) {
    // Required fields in an optional object have no default.
    const isRequired = path === '' && (node.required?.includes(name) ?? false);
    yield* leavesOf(property, path === '' ? name : `${path}.${name}`, isRequired);
  }
}

function typeOf(node: StructuralSchema): string {
  if (node['x-kubernetes-int-or-string'] === true) return 'quantity';
  if (node.type === 'string') return `string, ${String(node['minLength'] ?? 0)}–${String(node['maxLength'])}`;
  if (node.type === 'integer') return `integer, ${String(node['minimum'])}–${String(node['maximum'])}`;
  return String(node.type);
}

function defaultOf(node: StructuralSchema, required: boolean): string {
  if (required) return 'required';
  return node.default === undefined ? '' : `\`${JSON.stringify(node.default)}\``;
}

describe('docs/userswarm.md', () => {
  it('lists every field of the spec with its type and default', () => {
    const listed = rowsOf(4).map(([path, type, value]) => [path!.replaceAll('`', ''), type, value]);
    const fields = listed.filter(([path]) => /^[a-z]/.test(path!));
    expect(fields).toEqual([...leavesOf(schema.properties!['spec']!, '', false)]);
  });

  it('lists every field of the status', () => {
    const fields = rowsOf(2)
      .map(firstOf)
      .filter((name) => /^[a-z]/.test(name));
    expect(fields.toSorted()).toEqual(Object.keys(schema.properties!['status']!.properties!).toSorted());
  });

  it('lists the phases in order of precedence, then the conditions', () => {
    const names = rowsOf(2)
      .map(firstOf)
      .filter((name) => /^[A-Z]/.test(name));
    expect(names).toEqual([...PHASES, ...CONDITIONS]);
  });

  it('has the generated tables of reasons', () => {
    expect(withReasonTables(text)).toBe(text);
  });

  it('has advice for every failure reason', () => {
    expect(Object.keys(REASON_ADVICE)).toEqual(
      expect.arrayContaining([...Object.keys(FAILURE_REASONS), ...SYNC_FAILURES]),
    );
  });
});
