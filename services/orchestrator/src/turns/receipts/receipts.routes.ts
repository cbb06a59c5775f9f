import type { Handler } from '../../platform/http/handlers.js';
import type { ReceiptService } from './receipts.service.js';

export function receiptHandlers(service: ReceiptService) {
  const listReceipts: Handler<'listReceipts'> = async ({ actor, query }) => ({
    status: 200,
    body: await service.list(actor.userId, { ...query, workspaceIds: actor.access?.workspace_ids ?? null }),
  });
  const getReceipt: Handler<'getReceipt'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, params.id) },
  });
  const listReceiptKeys: Handler<'listReceiptKeys'> = async () => ({ status: 200, body: await service.keys() });
  return { listReceipts, getReceipt, listReceiptKeys };
}
