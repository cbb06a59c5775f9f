import { sql } from 'kysely';
import type { Database } from '../src/platform/database/database.js';

/** Copies per statement, so that each statement ends before its deadline. */
const COPIES_AT_ONCE = 1_000;

const OF_WORKSPACE = 'workspace_id = $1';
const OF_TURNS = 'turn_id IN (SELECT id FROM turns WHERE workspace_id = $1)';

/** Tables with conditions for a workspace's rows. Each table comes after the tables that it refers to. */
const TABLES: Record<string, string> = {
  users: 'id = (SELECT owner_id FROM workspaces WHERE id = $1)',
  workspaces: 'id = $1',
  agents: OF_WORKSPACE,
  conversations: OF_WORKSPACE,
  runtimes: OF_WORKSPACE,
  messages: OF_WORKSPACE,
  turns: OF_WORKSPACE,
  turn_entries: OF_TURNS,
  turn_contexts: OF_TURNS,
  tool_approvals: OF_TURNS,
  workspace_events: OF_WORKSPACE,
  work: OF_WORKSPACE,
};

const copiedId = (id: string): string => `md5(${id}::text || n)::uuid`;

function copied(table: string, name: string, type: string): string {
  if (type === 'uuid') return copiedId(name);
  return table === 'users' && name === 'subject' ? 'subject || n' : name;
}

async function columnsOf(table: string, database: Database): Promise<{ name: string; type: string }[]> {
  const { rows } = await sql<{ name: string; type: string }>`
    SELECT column_name AS name, data_type AS type FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = ${table} AND is_generated = 'NEVER'`.execute(database);
  return rows;
}

/** Copies get new ids and users, and are equal otherwise. @returns the new ids */
export async function copyWorkspace(database: Database, workspaceId: string, copies: number): Promise<string[]> {
  for (const [table, condition] of Object.entries(TABLES)) {
    const columns = await columnsOf(table, database);
    const names = columns.map(({ name }) => name).join(', ');
    const values = columns.map(({ name, type }) => copied(table, name, type)).join(', ');
    const rows = condition.replace('$1', `'${workspaceId}'`);
    for (let from = 1; from <= copies; from += COPIES_AT_ONCE) {
      const to = Math.min(copies, from + COPIES_AT_ONCE - 1);
      await sql
        .raw(
          `INSERT INTO ${table} (${names}) SELECT ${values} FROM ${table} CROSS JOIN generate_series(${from}, ${to}) n WHERE ${rows}`,
        )
        .execute(database);
    }
  }
  const { rows } = await sql<{ id: string }>`
    SELECT ${sql.raw(copiedId(`'${workspaceId}'`))} AS id FROM generate_series(1, ${copies}) n`.execute(database);
  return rows.map(({ id }) => id);
}
