import { storable, type ReceiptSigner } from '@uswarm/service-kit';
import type { Database } from '../../platform/database/database.js';
import type { JobStore } from '../../platform/jobs/job-store.js';
import { pruningRow } from '../../platform/jobs/pruning.js';
import { argumentsHash, receiptDocument } from './receipt-document.js';
import type { OwnReceipt, ReceiptEnd, ReceiptRow, ReceiptStore } from './receipts.store.js';

export const UNKNOWN_OUTCOME =
  'It is not known whether this call was executed: the request was sent, but there was no answer. Do not repeat it. Tell the ' +
  'user to check, and ask whether to try again.';

export const UNKNOWN: ReceiptEnd = { status: 'unknown', outcome: UNKNOWN_OUTCOME };

/** Texts from other systems can contain anything. */
const storableEnd = ({ status, outcome }: ReceiptEnd): ReceiptEnd => ({ status, outcome: storable(outcome) });

/** A single job looks up calls that no turn continues, and signs. */
export const RECEIPT_ROW = pruningRow('receipt-settling');

/** Records calls with an effect, and signs each record in the transaction that ends it. */
export interface ReceiptLog extends Pick<
  ReceiptStore,
  'find' | 'count' | 'insert' | 'ofConversation' | 'sentSince' | 'left'
> {
  finish(turnId: string, callId: string, end: ReceiptEnd, db: Database): Promise<void>;
  /** Records a call that changed uswarm data, in the same transaction as the change. */
  recordOwn(receipt: Omit<OwnReceipt, 'argumentsHash'> & { arguments: unknown }, db: Database): Promise<void>;
  /**
   * Call it when a turn ends: its calls that were sent without an outcome are looked up afterwards.
   *
   * @returns their ids
   */
  leave(turnId: string, db: Database): Promise<string[]>;
  /** Ends a call that no turn continues. @returns false if it has ended, or if a turn continues it */
  finishLeft(id: string, end: ReceiptEnd, db: Database): Promise<boolean>;
  /** Signs ended receipts that have no signature. @returns how many */
  signEnded(limit: number, db: Database): Promise<number>;
}

export interface ReceiptLogDeps {
  store: Omit<ReceiptStore, 'list' | 'get' | 'keys'>;
  signer: ReceiptSigner;
  jobs: Pick<JobStore, 'tryMakeDueNow'>;
}

export function createReceiptLog({ store, signer, jobs }: ReceiptLogDeps): ReceiptLog {
  async function sign(rows: readonly ReceiptRow[], db: Database): Promise<void> {
    for (const row of rows) await store.sign(row.id, await signer.sign(receiptDocument(row)), signer, db);
  }

  return {
    find: store.find,
    count: store.count,
    insert: store.insert,
    ofConversation: store.ofConversation,
    sentSince: store.sentSince,
    left: store.left,
    async finish(turnId, callId, end, db) {
      await sign(await store.finish(turnId, callId, storableEnd(end), db), db);
    },
    async recordOwn({ arguments: input, outcome, ...call }, db) {
      const receipt = { ...call, argumentsHash: argumentsHash(input), outcome: storable(outcome) };
      await sign([await store.insertOwn(receipt, db)], db);
    },
    async leave(turnId, db) {
      const callIds = await store.sentOf(turnId, db);
      if (callIds.length > 0) await jobs.tryMakeDueNow(RECEIPT_ROW.kind, RECEIPT_ROW.subjectId, db);
      return callIds;
    },
    async finishLeft(id, end, db) {
      const rows = await store.finishLeft(id, storableEnd(end), db);
      await sign(rows, db);
      return rows.length > 0;
    },
    async signEnded(limit, db) {
      const rows = await store.lockUnsigned(limit, db);
      await sign(rows, db);
      return rows.length;
    },
  };
}
