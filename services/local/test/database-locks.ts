import { eventually } from '@uswarm/testkit/eventually';
import type pg from 'pg';

/** Locks with which a test stops other processes at a statement. */
export interface DatabaseLocks {
  /** Runs the statement in a transaction, and keeps its locks. @returns ends them */
  lock(statement: string): Promise<() => Promise<void>>;
  /** Resolves when a statement waits for a lock, by default any. */
  untilBlocked(statement?: RegExp): Promise<void>;
  /** Ends the locks that a failed test leaves. */
  end(): Promise<void>;
}

export function createDatabaseLocks(pool: pg.Pool): DatabaseLocks {
  const held = new Set<() => Promise<void>>();
  return {
    async lock(statement) {
      const connection = await pool.connect();
      await connection.query(`BEGIN; ${statement}`);
      const unlock = async (): Promise<void> => {
        if (!held.delete(unlock)) return;
        await connection.query('ROLLBACK');
        connection.release();
      };
      held.add(unlock);
      return unlock;
    },
    async untilBlocked(statement = /^/) {
      const sql = `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await eventually(async () => (await pool.query<{ query: string }>(sql)).rows, {
        until: (blocked) => blocked.some(({ query }) => statement.test(query)),
      });
    },
    async end() {
      for (const unlock of held) await unlock().catch(() => undefined);
    },
  };
}
