import { z } from 'zod';
import { data } from '../resources/primitives.js';
import { Receipt, ReceiptKeySet, ReceiptPage } from '../resources/receipt.js';
import { defineRoute, id, ok } from './define.js';
import * as examples from './examples.js';
import { pageQuery } from './pages.js';
import { receipt, receiptKey } from './receipt-example.js';

export const receiptRoutes = [
  defineRoute({
    operationId: 'listReceipts',
    method: 'get',
    path: '/v1/receipts',
    auth: 'user',
    scope: 'read',
    reach: 'listed',
    tag: 'receipts',
    summary: 'List the receipts of calls that changed something, newest first',
    description:
      'Receipts stay until the account is deleted, also those of deleted conversations and workspaces. Pages are listed forward ' +
      'only: `prev_scroll_id` is always null.',
    extension: true,
    query: pageQuery.omit({ direction: true }).extend({
      workspace_id: z.uuid().optional().meta({ description: 'Only receipts of this workspace, which may be deleted.' }),
    }),
    responses: ok(ReceiptPage),
    errors: ['cursor_invalid'],
    example: { query: { limit: 20 }, answer: { data: [receipt], pagination: examples.lastPage } },
  }),
  defineRoute({
    operationId: 'getReceipt',
    method: 'get',
    path: '/v1/receipts/{id}',
    auth: 'user',
    scope: 'read',
    tag: 'receipts',
    summary: 'Get a receipt',
    description: 'Verify `jws` with the key of `GET /v1/receipt-keys` that has its `kid`.',
    extension: true,
    params: { id: id('receipt_not_found') },
    responses: ok(data(Receipt)),
    example: { params: { id: examples.EXAMPLE.receiptId }, answer: { data: receipt } },
  }),
  defineRoute({
    operationId: 'listReceiptKeys',
    method: 'get',
    path: '/v1/receipt-keys',
    auth: 'public',
    tag: 'receipts',
    summary: 'List the public keys of receipts, as a JSON Web Key Set',
    description: 'Contains the keys of all receipts, also keys that no longer sign.',
    extension: true,
    responses: ok(ReceiptKeySet),
    example: { answer: { keys: [receiptKey] } },
  }),
] as const;
