import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, backoffDelay } from '@uswarm/service-kit';
import type { Database, Transact } from './database.js';

/** Postgres ended the transaction, and nothing of it happened: run again it may go through. */
const CONTENDED: ReadonlySet<unknown> = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
]);
const TRIES = 4;
const BACKOFF: Backoff = { initialMs: 20, maxMs: 200 };

/**
 * Transactions that are run again where they and another stood in each other's way, so `run` does
 * nothing outside of the database.
 *
 * @throws what `run` throws, and what is left of the way after some tries
 */
export function createTransact(database: Database): Transact {
  return async (run) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await database.transaction().execute(run);
      } catch (error) {
        if (tries === TRIES || !CONTENDED.has((error as { code?: unknown } | null)?.code)) throw error;
        await sleep(backoffDelay(BACKOFF, tries - 1));
      }
    }
  };
}
