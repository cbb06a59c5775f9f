import { type Clock, createReceiptSigner, type Logger } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../config.js';
import type { Connections } from '../records/connections.js';
import { createListCursors } from '../records/list-cursor.js';
import { connectionOf } from './tools/call-rules.js';
import type { PlatformTool } from './tools/platform-tool.js';
import { createSafeMarkdown } from './content/reply-text.js';
import { createReceiptLog } from './receipts/receipt-log.js';
import { receiptSettling } from './receipts/receipt-settling.js';
import { receiptHandlers } from './receipts/receipts.routes.js';
import { createReceiptService } from './receipts/receipts.service.js';
import * as messageRecords from '../records/messages.store.js';

export interface ReceiptsModuleDeps {
  config: Pick<OrchestratorConfig, 'CALL_PRIVATE_KEY' | 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS' | 'PUBLIC_URL'>;
  requests: Pick<Connections, 'database'>;
  background: Pick<Connections, 'database' | 'withTransaction' | 'events' | 'jobs'>;
  tools: readonly PlatformTool[];
  clock: Clock;
  logger: Logger;
}

export function createReceiptsModule({ config, requests, background, tools, clock, logger }: ReceiptsModuleDeps) {
  const { database, withTransaction, events, jobs } = background;
  const signer = createReceiptSigner(config.CALL_PRIVATE_KEY);
  const log = createReceiptLog({ database, signer, jobs });
  const service = createReceiptService({
    database: requests.database,
    cursors: createListCursors('receipts', config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    key: signer,
  });
  return {
    log,
    service,
    routes: receiptHandlers(service),
    jobs: [
      receiptSettling({
        receipts: log,
        tools,
        connection: connectionOf(database),
        messages: messageRecords,
        markdown: createSafeMarkdown(config.PUBLIC_URL),
        events,
        withTransaction,
        clock,
        logger,
      }),
    ],
  };
}
