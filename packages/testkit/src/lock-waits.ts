import { eventually } from './eventually.js';

/** The statements in a database that wait for a lock. */
const WAITING = `
  SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/**
 * Resolves when a statement waits for a lock, by default any.
 *
 * @param query without a transaction, which always sees the activity at the time of its first query
 */
export async function untilBlocked(
  query: (text: string) => Promise<readonly { query: string }[]>,
  statement = /^/,
): Promise<void> {
  await eventually(() => query(WAITING), {
    until: (waiting) => waiting.some((one) => statement.test(one.query)),
    description: `a statement ${statement} waits for a lock`,
  });
}
