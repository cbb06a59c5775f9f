import type { Database } from './database.js';

type Settled<Promises extends readonly unknown[]> = { -readonly [Index in keyof Promises]: Awaited<Promises[Index]> };

/**
 * Sends statements from concurrent functions together, on one connection. The server executes them in the order in
 * which they were sent, so that locks are taken in this order. Only for statements that are written with `sql`.
 *
 * @param db a transaction; otherwise each statement is a separate transaction
 * @param run calls functions with the given database, and returns their promises
 * @throws when all have settled: the error of the first promise in the list that rejects
 */
export async function pipelined<Db extends Database, const Promises extends readonly Promise<unknown>[]>(
  db: Db,
  run: (db: Db) => Promises,
): Promise<Settled<Promises>> {
  const executor = db.getExecutor();
  return executor.provideConnection(async (connection) => {
    // A transaction's executor sends a statement when the one before it has its result.
    const sending = executor.withConnectionProvider({ provideConnection: (consumer) => consumer(connection) });
    const sender = Object.assign(Object.create(db) as Db, { getExecutor: () => sending });
    return allInOrder(run(sender));
  });
}

/** Each statement after a failed one has this error. */
const isConsequence = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === '25P02';

/**
 * As `Promise.all`, but waits for all of them. Throws the first error in the list that is not a consequence of another.
 */
export async function allInOrder<const Promises extends readonly unknown[]>(
  promises: Promises,
): Promise<Settled<Promises>> {
  const settled = await Promise.allSettled(promises);
  const errors = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  if (errors.length > 0) throw errors.find((error) => !isConsequence(error)) ?? errors[0];
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : undefined)) as Settled<Promises>;
}
