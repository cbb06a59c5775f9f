import { CompiledQuery, type KyselyPlugin } from 'kysely';
import type { Database } from '../src/platform/database/database.js';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  // Only with ANALYZE; rows are per loop.
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

function nodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)];
}

export async function statementsOf(
  database: Database,
  use: (db: Database) => Promise<unknown>,
): Promise<CompiledQuery[]> {
  const statements: CompiledQuery[] = [];
  const recorder: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      statements.push(database.getExecutor().compileQuery(node, queryId));
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  await use(database.withPlugin(recorder));
  if (statements.length === 0) throw new Error('no statement was executed');
  return statements;
}

/** Returns each statement's plan nodes. `ANALYZE` executes the statement again. */
async function plansOf(
  database: Database,
  use: (db: Database) => Promise<unknown>,
  analyze = '',
): Promise<{ statement: string; nodes: PlanNode[] }[]> {
  const plans = [];
  for (const { sql, parameters } of await statementsOf(database, use)) {
    const explain = CompiledQuery.raw(`EXPLAIN (FORMAT JSON${analyze}) ${sql}`, [...parameters]);
    const { rows } = await database.executeQuery<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(explain);
    const roots = rows.flatMap((row) => row['QUERY PLAN'].map(({ Plan }) => Plan));
    plans.push({ statement: sql.trim().slice(0, 60), nodes: roots.flatMap(nodes) });
  }
  return plans;
}

/** Empty partitions in the event log. */
const COMING_DAYS = /^workspace_events_(\d{8}|default)$/;

/** Runs `use`, and then explains each statement that it executed. @returns a line for each sequential scan */
export async function sequentialScans(database: Database, use: (db: Database) => Promise<unknown>): Promise<string[]> {
  const plans = await plansOf(database, use);
  return plans.flatMap(({ statement, nodes: all }) =>
    all
      .filter((node) => node['Node Type'] === 'Seq Scan' && !COMING_DAYS.test(node['Relation Name'] ?? ''))
      .map((node) => `${node['Relation Name']}: ${statement}`),
  );
}

/** For read-only statements. @returns the maximum number of rows that one plan node read, and the used indices */
export async function rowsRead(
  database: Database,
  use: (db: Database) => Promise<unknown>,
): Promise<{ most: number; indices: string[] }> {
  const all = (await plansOf(database, use, ', ANALYZE')).flatMap((plan) => plan.nodes);
  const read = (node: PlanNode): number =>
    ((node['Actual Rows'] ?? 0) +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0)) *
    (node['Actual Loops'] ?? 1);
  const indices = new Set(all.flatMap((node) => node['Index Name'] ?? []));
  return { most: Math.max(...all.map(read)), indices: [...indices].toSorted() };
}
