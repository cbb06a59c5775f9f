import { silentLogger } from '@uswarm/service-kit';
import type { WithTransaction } from '../src/platform/database/database.js';
import { createReceiptSettling, type ReceiptSettlingDeps } from '../src/turns/receipts/receipt-settling.js';
import type { Stores } from './stores.js';

interface Settling extends Partial<Pick<ReceiptSettlingDeps, 'tools' | 'receipts' | 'connection'>> {
  withTransaction: WithTransaction;
  afterMs?: number;
}

/**
 * Runs the receipt job once. Without tools, no call can be looked up. @returns the number of calls that it looks up
 * again
 */
export const settleReceipts = (stores: Stores, { afterMs = 0, ...more }: Settling): Promise<number> =>
  createReceiptSettling({
    ...stores,
    tools: [],
    connection: async () => undefined,
    clock: { now: () => new Date(Date.now() + afterMs) },
    logger: silentLogger,
    ...more,
  }).settle(new AbortController().signal);
