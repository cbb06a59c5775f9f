import {
  ApiError,
  LIMITS,
  type Receipt,
  type ReceiptKeySet,
  type ReceiptPage,
  type SignedReceipt,
} from '@uswarm/contract';
import { receiptJwk, type ReceiptKey, receiptPayload } from '@uswarm/service-kit';
import { fitting, jsonBytes } from '../../platform/http/bounded-list.js';
import type { ListCursorCodec } from '../../records/list-cursor.js';
import { receiptView } from './receipt-document.js';
import { getReceipt, listImportedKeys, listImportedReceipts, listReceiptKeys, listReceipts } from './receipts.store.js';
import type { Database } from '../../platform/database/database.js';

export interface ReceiptServiceDeps {
  database: Database;
  cursors: ListCursorCodec;
  key: ReceiptKey;
}

export interface ReceiptQuery {
  scrollId?: string | undefined;
  limit: number;
  workspace_id?: string | undefined;
  /** Null: of all workspaces. */
  workspaceIds: readonly string[] | null;
}

export interface ReceiptService {
  /** Newest first, bounded by the response size. @throws ApiError `cursor_invalid` */
  list(userId: string, query: ReceiptQuery): Promise<ReceiptPage>;
  /** @throws ApiError `receipt_not_found` */
  get(userId: string, id: string): Promise<Receipt>;
  /** Newest first. @param workspaceId only of this workspace */
  all(userId: string, workspaceId?: string): AsyncGenerator<Receipt>;
  /** Receipts of another installation, in the order of their file. */
  imported(workspaceId: string): AsyncGenerator<Receipt>;
  /** Includes former keys, so that all receipts can be verified. */
  keys(): Promise<ReceiptKeySet>;
  /** This installation does not vouch for these keys. */
  importedKeys(workspaceId: string): Promise<ReceiptKeySet['keys']>;
}

export function createReceiptService({ database, cursors, key }: ReceiptServiceDeps): ReceiptService {
  return {
    async list(userId, { scrollId, limit, workspace_id: workspaceId, workspaceIds }) {
      const scope = [userId, workspaceId ?? null];
      const after = scrollId === undefined ? undefined : cursors.decode(scrollId, scope);
      const rows = await listReceipts(database, userId, { workspaceId, workspaceIds, limit: limit + 1, after });
      const page = fitting(
        rows.slice(0, limit).map((row) => ({ receipt: receiptView(row), position: row.position })),
        ({ receipt }) => jsonBytes(receipt),
      );
      const last = page.at(-1);
      const next = last === undefined || page.length === rows.length ? null : cursors.encode(last.position, scope);
      return {
        data: page.map(({ receipt }) => receipt),
        pagination: { next_scroll_id: next, prev_scroll_id: null, has_next: next !== null, has_prev: false },
      };
    },

    async get(userId, id) {
      const row = await getReceipt(database, userId, id);
      if (row === undefined) throw new ApiError('receipt_not_found');
      return receiptView(row);
    },

    async *all(userId, workspaceId) {
      const limit = LIMITS.pageDefault;
      for (let after; ;) {
        const rows = await listReceipts(database, userId, { workspaceId, limit, after });
        yield* rows.map(receiptView);
        after = rows.at(-1)?.position;
        if (after === undefined) return;
      }
    },

    async *imported(workspaceId) {
      for (let after = -1; ;) {
        const rows = await listImportedReceipts(database, workspaceId, after, LIMITS.pageDefault);
        for (const { jws } of rows) yield { ...(receiptPayload(jws) as SignedReceipt), jws };
        const last = rows.at(-1);
        if (last === undefined) return;
        after = last.number;
      }
    },

    importedKeys: async (workspaceId) => (await listImportedKeys(database, workspaceId)).map(receiptJwk),

    async keys() {
      const stored = await listReceiptKeys(database);
      const all = stored.some(({ kid }) => kid === key.kid) ? stored : [key, ...stored];
      return { keys: all.map(receiptJwk) };
    },
  };
}
