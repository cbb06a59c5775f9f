import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from './database.js';
import { pipelined } from './pipelined.js';

export interface ReadBounds {
  /** Time limit in ms for all statements together. */
  timeoutMs: number;
  signal: AbortSignal;
}

export class ReadTimeout extends Error {
  override name = 'ReadTimeout';
}

/**
 * Runs read-only statements on one connection with separate bounds. Postgres cancels a statement that exceeds them.
 * `run` can send `sql` statements together, as with `pipelined`.
 *
 * @throws ReadTimeout; the signal's reason if it is aborted; errors that `run` throws
 */
export type BoundedRead = <T>(bounds: ReadBounds, run: (db: Database) => Promise<T>) => Promise<T>;

const QUERY_CANCELED = '57014';
/** A cancel request between two statements has no effect, so it is repeated. */
const CANCEL_AGAIN_MS = 50;

export function createBoundedRead(database: Database): BoundedRead {
  return async ({ timeoutMs, signal }, run) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return await database
        .transaction()
        .setAccessMode('read only')
        .execute(async (tx) => {
          const [, result] = await pipelined(tx, (db) => {
            const pid = bound(db, timeoutMs);
            return [pid, cancellable(database, pid, AbortSignal.any([signal, timeout]), () => run(db))];
          });
          return result;
        });
    } catch (error) {
      signal.throwIfAborted();
      const canceled = (error as { code?: unknown } | null)?.code === QUERY_CANCELED;
      if (canceled || error === timeout.reason) throw new ReadTimeout('the statements took too long', { cause: error });
      throw error;
    }
  };
}

/** The statement timeout also applies if this process cannot send a cancel request. @returns the server's process id */
async function bound(db: Database, timeoutMs: number): Promise<number> {
  const { rows } = await sql<{ pid: number }>`
    SELECT pg_backend_pid() AS pid, set_config('statement_timeout', ${String(timeoutMs)}, true)`.execute(db);
  return rows[0]?.pid ?? 0;
}

/** Awaits the last cancel request, so that it never cancels a statement of the connection's next user. */
async function cancellable<T>(
  database: Database,
  pid: Promise<number>,
  ended: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  ended.throwIfAborted();
  let settled = false;
  let cancelling: Promise<void> | undefined;
  const cancel = async (): Promise<void> => {
    // Without a connection, the running statement fails too.
    const backend = await pid.catch(() => undefined);
    while (!settled && backend !== undefined) {
      await sql`SELECT pg_cancel_backend(${backend}::int)`.execute(database).catch(() => undefined);
      if (!settled) await sleep(CANCEL_AGAIN_MS);
    }
  };
  const begin = (): void => {
    cancelling = cancel();
  };
  ended.addEventListener('abort', begin, { once: true });
  try {
    return await run();
  } finally {
    settled = true;
    ended.removeEventListener('abort', begin);
    await cancelling;
  }
}
