import { storable, type ReceiptSigner } from '@uswarm/service-kit';
import type { Database } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import { pruningRow } from '../../platform/jobs/pruning.js';
import { argumentsHash, receiptDocument } from './receipt-document.js';
import {
  type OwnReceipt,
  type ReceiptEnd,
  type ReceiptRow,
  type NewReceipt,
  type SentCall,
  type SentReceipt,
  signReceipt,
  findReceipt,
  countReceipts,
  insertReceipt,
  findCallsOfConversation,
  hasSentSince,
  findLeftReceipts,
  finishReceipt,
  insertOwnReceipt,
  findSentCalls,
  finishLeftReceipt,
  lockUnsignedReceipts,
} from './receipts.store.js';

export const UNKNOWN_OUTCOME =
  'It is not known whether this call was executed: the request was sent, but there was no answer. Do not repeat it. Tell the ' +
  'user to check, and ask whether to try again.';

export const UNKNOWN: ReceiptEnd = { status: 'unknown', outcome: UNKNOWN_OUTCOME };

/** Texts from other systems can contain anything. */
const storableEnd = ({ status, outcome }: ReceiptEnd): ReceiptEnd => ({ status, outcome: storable(outcome) });

/** A single job looks up calls that no turn continues, and signs. */
export const RECEIPT_ROW = pruningRow('receipt-settling');

/** Records calls with an effect, and signs each record in the transaction that ends it. */
export interface ReceiptLog {
  find(turnId: string, callId: string, db: Database): Promise<SentReceipt | undefined>;
  count(turnId: string, db: Database): Promise<number>;
  insert(receipt: NewReceipt, db: Database): Promise<void>;
  /** Calls that the conversation's turns have sent, the last ones first. */
  ofConversation(conversationId: string, limit: number): Promise<SentCall[]>;
  /** True if the turn's agent has sent a call since the message that the turn answers. */
  sentSince(turn: { id: string; agentId: string; messageId: string }): Promise<boolean>;
  /** Sent calls that no turn continues. */
  left(limit: number, afterId?: string): Promise<ReceiptRow[]>;
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
  database: Database;
  signer: ReceiptSigner;
  jobs: Pick<JobQueue, 'tryMakeDueNow'>;
}

export function createReceiptLog({ database, signer, jobs }: ReceiptLogDeps): ReceiptLog {
  async function sign(rows: readonly ReceiptRow[], db: Database): Promise<void> {
    for (const row of rows) await signReceipt(db, row.id, await signer.sign(receiptDocument(row)), signer);
  }

  return {
    find: (turnId, callId, db) => findReceipt(db, turnId, callId),
    count: (turnId, db) => countReceipts(db, turnId),
    insert: (receipt, db) => insertReceipt(db, receipt),
    ofConversation: (conversationId, limit) => findCallsOfConversation(database, conversationId, limit),
    sentSince: (turn) => hasSentSince(database, turn),
    left: (limit, afterId) => findLeftReceipts(database, limit, afterId),
    async finish(turnId, callId, end, db) {
      await sign(await finishReceipt(db, turnId, callId, storableEnd(end)), db);
    },
    async recordOwn({ arguments: input, outcome, ...call }, db) {
      const receipt = { ...call, argumentsHash: argumentsHash(input), outcome: storable(outcome) };
      await sign([await insertOwnReceipt(db, receipt)], db);
    },
    async leave(turnId, db) {
      const callIds = await findSentCalls(db, turnId);
      if (callIds.length > 0) await jobs.tryMakeDueNow(RECEIPT_ROW.kind, RECEIPT_ROW.subjectId, db);
      return callIds;
    },
    async finishLeft(id, end, db) {
      const rows = await finishLeftReceipt(db, id, storableEnd(end));
      await sign(rows, db);
      return rows.length > 0;
    },
    async signEnded(limit, db) {
      const rows = await lockUnsignedReceipts(db, limit);
      await sign(rows, db);
      return rows.length;
    },
  };
}
