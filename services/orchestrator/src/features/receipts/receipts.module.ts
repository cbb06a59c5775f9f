import { createReceiptSigner } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../database/connections.js';
import { createListCursors } from '../messages/list-cursor.js';
import { createReceiptLog, receiptSettling } from './receipt-log.js';
import { receiptHandlers } from './receipts.routes.js';
import { createReceiptService } from './receipts.service.js';
import { createReceiptStore } from './receipts.store.js';

export interface ReceiptsModuleDeps {
  config: Pick<OrchestratorConfig, 'CALL_PRIVATE_KEY' | 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS'>;
  requests: Pick<Connections, 'database'>;
  background: Pick<Connections, 'database' | 'withTransaction'>;
}

/** Signed records of calls of agents that changed something in another system. */
export function createReceiptsModule({ config, requests, background }: ReceiptsModuleDeps) {
  const signer = createReceiptSigner(config.CALL_PRIVATE_KEY);
  const log = createReceiptLog({ store: createReceiptStore(background.database), signer });
  const service = createReceiptService({
    store: createReceiptStore(requests.database),
    cursors: createListCursors('receipts', config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    key: signer,
  });
  return {
    log,
    service,
    routes: receiptHandlers(service),
    jobs: [receiptSettling(log, background.withTransaction)],
  };
}
