import { CompiledQuery, type KyselyPlugin } from 'kysely';
import type { Database } from '../src/database/database.js';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  Plans?: PlanNode[];
}

function nodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)];
}

/**
 * Runs what uses the database, and then explains each statement that it made.
 * @returns the tables that a statement reads from end to end, a line each
 */
export async function sequentialScans(database: Database, use: (db: Database) => Promise<unknown>): Promise<string[]> {
  const statements: CompiledQuery[] = [];
  const recorder: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      statements.push(database.getExecutor().compileQuery(node, queryId));
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  await use(database.withPlugin(recorder));
  if (statements.length === 0) throw new Error('no statement was made');
  const scans: string[] = [];
  for (const { sql, parameters } of statements) {
    const explain = CompiledQuery.raw(`EXPLAIN (FORMAT JSON) ${sql}`, [...parameters]);
    const { rows } = await database.executeQuery<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(explain);
    const plans = rows.flatMap((row) => row['QUERY PLAN'].map(({ Plan }) => Plan));
    const found = plans.flatMap(nodes).filter((node) => node['Node Type'] === 'Seq Scan');
    scans.push(...found.map((node) => `${node['Relation Name']}: ${sql.trim().slice(0, 60)}`));
  }
  return scans;
}
