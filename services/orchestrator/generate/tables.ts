import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { silentLogger } from '@uswarm/service-kit';
import { startPostgres } from '@uswarm/dev-servers';
import pg from 'pg';

/** Types of the contract for columns whose SQL type and CHECK constraints do not define the values. */
const COLUMN_TYPES: Record<string, string> = {
  'agents.prompts': 'AgentPrompt[]',
  'audit_log.details': 'Record<string, unknown>',
  'devices.push_keys': 'PushKeys',
  'integrations.needed_scopes': 'Record<string, string[]>',
  'legal_acceptances.document': 'LegalDocumentName',
  'messages.attachments': "Omit<Attachment, 'url'>[]",
  'messages.content': 'MessageContent',
  'messages.mentions': 'Mention[]',
  'receipts.approval': '{ approved_at: string; title: string | null; description: string | null }',
  'receipts.arguments': 'Record<string, unknown>',
  'webhook_deliveries.type': 'DurableEventName',
  'webhooks.events': 'DurableEventName[]',
  'usage_entries.prices': '{ input: number; cached_input: number; output: number }',
  'tool_approvals.answer': 'Record<string, unknown>',
  'tool_approvals.question': 'Record<string, unknown>',
  'tool_definitions.changed':
    '{ name: string; description: string; inputSchema: Record<string, unknown>; readOnly: boolean }',
  'tool_definitions.definition':
    '{ name: string; description: string; inputSchema: Record<string, unknown>; readOnly: boolean }',
  'tool_server_clients.client': 'Record<string, unknown>',
  'turn_contexts.context': 'Record<string, unknown>',
  'turn_entries.call':
    '{ tool: string; arguments: string; failed: boolean; sources: { title: string; address: string }[] }',
};

/** bigint columns are read as numbers: see src/platform/database/database.ts. */
const SQL_TYPES: Record<string, string> = {
  bool: 'boolean',
  bytea: 'Buffer',
  date: 'Timestamp',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  text: 'string',
  timestamptz: 'Timestamp',
  uuid: 'string',
  _int8: 'number[]',
  _text: 'string[]',
  _timestamptz: 'Date[]',
  _uuid: 'string[]',
};

const HEADER = '// Generated from the migrations by `npm run generate`. Do not edit.';

interface Column {
  table: string;
  name: string;
  type: string;
  nullable: boolean;
  hasDefault: boolean;
  computed: boolean;
  /** Definitions of the CHECK constraints that use only this column. */
  checks: string[];
}

const COLUMNS = `
  SELECT c.relname AS table, a.attname AS name, t.typname AS type, NOT a.attnotnull AS nullable,
    a.atthasdef AS "hasDefault", a.attgenerated <> '' AS computed,
    ARRAY(
      SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k
      WHERE k.conrelid = c.oid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum]
    ) AS checks
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type t ON t.oid = a.atttypid
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'schema_migrations'
  ORDER BY c.relname COLLATE "C", a.attnum`;

/**
 * The text of src/platform/database/tables.ts: the row types of a migrated database.
 * @throws Error if a column has a type that neither list above contains
 */
export async function tableTypes(databaseUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<Column>(COLUMNS);
    return render(rows);
  } finally {
    await client.end();
  }
}

function render(columns: readonly Column[]): string {
  const names = new Set(columns.map((column) => `${column.table}.${column.name}`));
  const unused = Object.keys(COLUMN_TYPES).filter((name) => !names.has(name));
  if (unused.length > 0) throw new Error(`COLUMN_TYPES contains unknown columns: ${unused.join(', ')}`);
  const tables = Map.groupBy(columns, ({ table }) => table);
  const imported = [...new Set(Object.values(COLUMN_TYPES).flatMap((type) => type.match(/\b[A-Z]\w*/g) ?? []))]
    .filter((name) => name !== 'Omit' && name !== 'Record')
    .toSorted();
  const interfaces = [...tables].map(([table, members]) =>
    [`export interface ${interfaceName(table)} {`, ...members.map((member) => `  ${property(member)}`), '}', ''].join(
      '\n',
    ),
  );
  return [
    HEADER,
    `import type { ${imported.join(', ')} } from '@uswarm/contract';`,
    "import type { ColumnType } from 'kysely';",
    '',
    '/** Has a default. */',
    'type Generated<T> = [T] extends [ColumnType<infer S, infer I, infer U>]',
    '  ? ColumnType<S, I | undefined, U>',
    '  : ColumnType<T, T | undefined, T>;',
    'type Timestamp = ColumnType<Date, Date | string, Date | string>;',
    '/** Read as a value, written as JSON text. */',
    'type Json<T> = ColumnType<T, string, string>;',
    '/** Computed by Postgres. */',
    'type Computed<T> = ColumnType<T, never, never>;',
    '',
    ...interfaces,
    'export interface Schema {',
    ...[...tables.keys()].map((table) => `  ${table}: ${interfaceName(table)};`),
    '}',
    '',
  ].join('\n');
}

function property(column: Column): string {
  const type = `${valueType(column)}${column.nullable ? ' | null' : ''}`;
  if (column.computed) return `${column.name}: Computed<${type}>;`;
  // Kysely takes nullable columns as optional, so a default matters only for the others.
  return `${column.name}: ${column.hasDefault && !column.nullable ? `Generated<${type}>` : type};`;
}

function valueType({ table, name, type, checks }: Column): string {
  const column = `${table}.${name}`;
  const precise = COLUMN_TYPES[column] ?? checks.map(allowedValues).find((values) => values !== undefined);
  if (type === 'jsonb' && precise !== undefined) return `Json<${precise}>`;
  const found = precise ?? SQL_TYPES[type];
  if (found === undefined) throw new Error(`${column} has type ${type}: add it to COLUMN_TYPES or SQL_TYPES`);
  return found;
}

/** Postgres stores `x IN ('a', 'b')` as `x = ANY (ARRAY['a'::text, 'b'::text])`. */
function allowedValues(check: string): string | undefined {
  const list = /^CHECK \(\(\w+ = ANY \(ARRAY\[(.*)\]\)\)\)(?: NOT VALID)?$/.exec(check)?.[1];
  return list?.replaceAll('::text', '').split(', ').join(' | ');
}

function interfaceName(table: string): string {
  const words = table.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join('')}Table`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { migrate } = await import('../dist/platform/database/migrate.js');
  const directory = await mkdtemp(join(tmpdir(), 'uswarm-tables-'));
  // As root, Postgres runs as another user, which must be able to enter the folder.
  await chmod(directory, 0o755);
  const postgres = await startPostgres({ directory, durable: false });
  try {
    const url = await postgres.createDatabase('tables');
    await migrate(url, silentLogger);
    await writeFile(new URL('../src/platform/database/tables.ts', import.meta.url), await tableTypes(url));
  } finally {
    await postgres.close({ remove: true });
    await rm(directory, { recursive: true, force: true });
  }
}
