import { ApiError, type WebhookDelivery, type WebhookDeliveryPage } from '@uswarm/contract';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { CursorCodec, CursorScope } from '../../records/cursor.js';
import {
  type DeliveryRow,
  enqueueWebhook,
  listDeliveries,
  replayDeliveries,
  replayDelivery,
} from '../../records/webhooks.store.js';
import type { WebhookAccess, WebhookPath } from './webhook-access.js';

export interface DeliveryServiceDeps {
  database: Database;
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'enqueue'>;
  access: Pick<WebhookAccess, 'requireWebhook'>;
  cursors: CursorCodec;
}

export interface DeliveryQuery {
  scrollId?: string | undefined;
  limit: number;
  state?: WebhookDelivery['state'] | undefined;
}

/** All methods throw the errors of `requireWebhook`. */
export interface DeliveryService {
  /** @throws ApiError `cursor_invalid` */
  list(path: WebhookPath, query: DeliveryQuery): Promise<WebhookDeliveryPage>;
  /** @throws ApiError `webhook_delivery_not_found` */
  replay(path: WebhookPath, deliveryId: string): Promise<WebhookDelivery>;
  /** @returns the number of events that are sent again */
  replaySince(path: WebhookPath, since: Date): Promise<number>;
}

function deliveryView(row: DeliveryRow): WebhookDelivery {
  const { lastAttemptAt: at, durationMs, status, response, failure } = row;
  return {
    id: row.id,
    event: row.type,
    seq: row.seq,
    occurred_at: row.occurredAt.toISOString(),
    state: row.state,
    attempts: row.attempts,
    next_attempt_at: row.nextAttemptAt?.toISOString() ?? null,
    last_attempt:
      at === null ? null : { at: at.toISOString(), duration_ms: durationMs ?? 0, status, response, failure },
  };
}

export function createDeliveryService(deps: DeliveryServiceDeps): DeliveryService {
  const { database, withTransaction, jobs, access, cursors } = deps;
  return {
    async list(path, { scrollId, limit, state }) {
      await access.requireWebhook(path);
      const scope: CursorScope = {
        userId: path.userId,
        conversationId: path.id,
        filter: state ?? '',
        direction: 'backward',
      };
      const beforeSeq = scrollId === undefined ? undefined : cursors.decode(scrollId, scope).seq;
      const rows = await listDeliveries(database, path.id, { state, beforeSeq, limit: limit + 1 });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const next =
        last === undefined || rows.length <= limit
          ? null
          : cursors.encode({ seq: last.seq, before_seq: null, pageDirection: 'older' }, scope);
      return {
        data: page.map(deliveryView),
        pagination: { next_scroll_id: next, prev_scroll_id: null, has_next: next !== null, has_prev: false },
      };
    },

    async replay(path, deliveryId) {
      await access.requireWebhook(path);
      return withTransaction(async (tx) => {
        const row = await replayDelivery(tx, path.id, deliveryId);
        if (row === undefined) throw new ApiError('webhook_delivery_not_found');
        await enqueueWebhook(jobs, path, tx);
        return deliveryView(row);
      });
    },

    async replaySince(path, since) {
      await access.requireWebhook(path);
      return withTransaction(async (tx) => {
        const count = await replayDeliveries(tx, path.id, since);
        if (count > 0) await enqueueWebhook(jobs, path, tx);
        return count;
      });
    },
  };
}
