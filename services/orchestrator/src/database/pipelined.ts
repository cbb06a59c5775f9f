import type { Transaction } from './database.js';

type Settled<Promises extends readonly unknown[]> = { -readonly [Index in keyof Promises]: Awaited<Promises[Index]> };

/**
 * Sends the statements of concurrent functions together. The server executes them in the order in which they were sent,
 * so that locks are taken in this order. Only for statements that are written with `sql`.
 *
 * @param run calls functions with the given transaction, and returns their promises
 * @throws the error of the first promise in the list that rejects, when all have settled
 */
export async function pipelined<const Promises extends readonly Promise<unknown>[]>(
  tx: Transaction,
  run: (tx: Transaction) => Promises,
): Promise<Settled<Promises>> {
  const executor = tx.getExecutor();
  return executor.provideConnection(async (connection) => {
    // The executor of a transaction sends a statement when the one before it has its result.
    const sending = executor.withConnectionProvider({ provideConnection: (consumer) => consumer(connection) });
    const sender = Object.assign(Object.create(tx) as Transaction, { getExecutor: () => sending });
    return allInOrder(run(sender));
  });
}

/** As `Promise.all`, but waits for all of them, and throws the error of the first one in the list. */
export async function allInOrder<const Promises extends readonly Promise<unknown>[]>(
  promises: Promises,
): Promise<Settled<Promises>> {
  await Promise.allSettled(promises);
  const results: unknown[] = [];
  for (const promise of promises) results.push(await promise);
  return results as Settled<Promises>;
}
