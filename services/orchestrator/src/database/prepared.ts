import { createHash } from 'node:crypto';
import { sql } from 'kysely';

const MARK = '/* planned each time */';

/**
 * Goes into a statement whose best plan depends on its values, as on how common a word or how long a
 * conversation is. Of any other statement Postgres keeps the plan.
 */
export const FORCE_CUSTOM_PLAN = sql.raw(MARK);

/** What it selects changes with a migration, while the statement stays prepared: Postgres refuses it from then on. */
const ALL_COLUMNS = /\b(select|returning)\s+\*|,\s*\*|\.\*/i;
/** A connection keeps them all: a text that is made anew each time must not fill its memory. */
const MOST_STATEMENTS = 500;

const names = new Map<string, string | undefined>();

/**
 * Under which name a connection prepares a statement with values, which spares Postgres parsing and
 * planning it each time: more than half of what a small statement costs.
 *
 * @returns undefined where it is to be sent as it is
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
