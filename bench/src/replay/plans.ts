import type { Client } from 'pg';
import type { SeenStatement } from './template.js';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  Plans?: PlanNode[];
}

/** Minimum number of rows; smaller tables are read faster by a sequential scan. */
const LARGE = 10_000;
const HAS_PLAN = /^\s*(\/\*.*?\*\/\s*)?(select|with|insert|update|delete)\b/i;

/** @returns a line per statement whose plan has a sequential scan on a large table */
export async function fullReads(client: Client, statements: readonly SeenStatement[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND reltuples > $1",
    [LARGE],
  );
  const large = new Set(rows.map(({ name }) => name));
  const lines: string[] = [];
  for (const { text, values } of statements.filter((statement) => HAS_PLAN.test(statement.text))) {
    const plan = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`EXPLAIN (FORMAT JSON) ${text}`, [
      ...values,
    ]);
    const nodes = plan.rows.flatMap((row) => row['QUERY PLAN']).flatMap(({ Plan }) => below(Plan));
    for (const { 'Node Type': type, 'Relation Name': relation = '' } of nodes) {
      if (type === 'Seq Scan' && large.has(relation)) lines.push(`${relation}: ${text.replaceAll(/\s+/g, ' ').trim()}`);
    }
  }
  return lines;
}

const below = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(below)];
