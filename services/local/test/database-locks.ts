import { untilBlocked } from '@uswarm/testkit/lock-waits';
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
      // Its server can be killed.
      connection.on('error', () => undefined);
      await connection.query(`BEGIN; ${statement}`);
      const unlock = async (): Promise<void> => {
        if (!held.delete(unlock)) return;
        const lost = await connection.query('ROLLBACK').then(
          () => false,
          () => true,
        );
        connection.release(lost);
      };
      held.add(unlock);
      return unlock;
    },
    untilBlocked: (statement) =>
      untilBlocked(async (text) => (await pool.query<{ query: string }>(text)).rows, statement),
    async end() {
      for (const unlock of held) await unlock().catch(() => undefined);
    },
  };
}
