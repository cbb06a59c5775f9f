import type { ReceiptSigner } from '@uswarm/service-kit';
import type { Database, WithTransaction } from '../../database/database.js';
import type { JobDefinition } from '../../jobs/job-definition.js';
import { pruningRow } from '../../jobs/pruning.js';
import { storable } from '../turns/agent-content-schema.js';
import { receiptDocument } from './receipt-document.js';
import type { ReceiptEnd, ReceiptRow, ReceiptStore } from './receipts.store.js';

/** What the model is told about a call whose outcome is unknown. */
export const UNKNOWN_OUTCOME =
  'It is not known whether this call was executed: the request was sent, but there was no answer. Do not repeat it. Tell the ' +
  'user to check, and ask whether to try again.';

const UNKNOWN: ReceiptEnd = { status: 'unknown', outcome: UNKNOWN_OUTCOME };

/** Records calls to other systems, and signs each record in the transaction that ends it. */
export interface ReceiptLog extends Pick<ReceiptStore, 'find' | 'count' | 'insert' | 'ofConversation' | 'sentSince'> {
  finish(turnId: string, callId: string, end: ReceiptEnd, db: Database): Promise<void>;
  /** Ends the calls of a turn that were sent and have no outcome. @returns their ids */
  finishTurn(turnId: string, db: Database): Promise<string[]>;
  /** Ends calls that no turn continues, and signs receipts without a signature. @returns how many; up to `limit` of each */
  settle(limit: number, db: Database): Promise<number>;
}

export interface ReceiptLogDeps {
  store: Omit<ReceiptStore, 'list' | 'get' | 'keys'>;
  signer: ReceiptSigner;
}

export function createReceiptLog({ store, signer }: ReceiptLogDeps): ReceiptLog {
  async function sign(rows: readonly ReceiptRow[], db: Database): Promise<void> {
    for (const row of rows) await store.sign(row.id, await signer.sign(receiptDocument(row)), signer, db);
  }

  return {
    find: store.find,
    count: store.count,
    insert: store.insert,
    ofConversation: store.ofConversation,
    sentSince: store.sentSince,
    async finish(turnId, callId, { status, outcome }, db) {
      // Texts of other systems can contain anything.
      await sign(await store.finish(turnId, callId, { status, outcome: storable(outcome) }, db), db);
    },
    async finishTurn(turnId, db) {
      const rows = await store.finishTurn(turnId, UNKNOWN, db);
      await sign(rows, db);
      return rows.map(({ call_id: callId }) => callId);
    },
    async settle(limit, db) {
      await store.finishOrphans(UNKNOWN, limit, db);
      const rows = await store.lockUnsigned(limit, db);
      await sign(rows, db);
      return rows.length;
    },
  };
}

const RECEIPT_JOB = 'receipt-settling';
const MINUTE_MS = 60_000;
const BATCH = 100;

/** The job that ends and signs receipts whose turn disappeared. */
export const receiptSettling = (
  receipts: Pick<ReceiptLog, 'settle'>,
  withTransaction: WithTransaction,
): JobDefinition => ({
  type: RECEIPT_JOB,
  atStart: pruningRow(RECEIPT_JOB),
  async handle(_job, signal) {
    for (let last = BATCH; last === BATCH && !signal.aborted;) {
      last = await withTransaction((tx) => receipts.settle(BATCH, tx));
    }
    return { againInMs: signal.aborted ? 0 : MINUTE_MS };
  },
});
