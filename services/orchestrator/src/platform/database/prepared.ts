import { createHash } from 'node:crypto';
import { sql } from 'kysely';

const MARK = '/* planned each time */';

/**
 * Marks a statement whose best plan depends on its values, such as how common a word or how long a conversation is.
 * Postgres caches all other statements' plans.
 */
export const FORCE_CUSTOM_PLAN = sql.raw(MARK);

/** A migration that adds a column changes the result type; Postgres then rejects the prepared statement. */
const ALL_COLUMNS = /\b(select|returning)\s+\*|,\s*\*|\.\*/i;
/** Each connection keeps all its prepared statements. The limit protects its memory from generated texts. */
const MOST_STATEMENTS = 500;

const names = new Map<string, string | undefined>();

/**
 * Returns the name under which a connection prepares a statement with values. Parsing and planning take more than half
 * of a small statement's time; Postgres does both only once for a prepared one.
 *
 * @returns undefined if the statement is not to be prepared
 */
export function preparedName(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.has(text)) return known;
  if (names.size >= MOST_STATEMENTS) return undefined;
  const keeps = !text.includes(MARK) && !ALL_COLUMNS.test(text);
  const name = keeps ? createHash('sha256').update(text).digest('hex').slice(0, 32) : undefined;
  names.set(text, name);
  return name;
}
