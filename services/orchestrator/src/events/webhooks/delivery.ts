import type { Clock, Logger } from '@uswarm/service-kit';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import type { LeasedJob } from '../../platform/jobs/job-queue.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import type { EventLog } from '../../records/event-log.js';
import { tellUser } from '../../records/system-message.js';
import {
  deleteDelivery,
  type DisabledReason,
  disableWebhook,
  findSendingWebhook,
  listPendingDeliveries,
  lockPendingDelivery,
  lockWebhook,
  type PendingDelivery,
  queueEvents,
  type SendingWebhook,
  storeDelivered,
  storeFailed,
} from '../../records/webhooks.store.js';
import type { RenderEvents } from '../event-payloads.js';
import type { LoggedEvent } from '../event-publisher.js';
import { nextAttempt } from './next-attempt.js';
import type { SendWebhook, SentWebhook } from './send-webhook.js';
import type { WebhookMetrics } from './webhook-metrics.js';
import type { WebhookSecrets } from './webhook-secrets.js';

export interface DeliveryDeps {
  database: Database;
  withTransaction: WithTransaction;
  events: Pick<EventLog, 'lock' | 'addMessage'>;
  render: RenderEvents;
  send: SendWebhook;
  secrets: WebhookSecrets;
  metrics: WebhookMetrics;
  clock: Clock;
  logger: Logger;
}

const QUEUED_AT_ONCE = 500;
const RENDERED_AT_ONCE = 50;

/**
 * Sends a webhook's events in order, at least once: an event is sent again if the process ends before it has stored the
 * outcome. An event that fails holds up those after it.
 */
export function createDelivery(deps: DeliveryDeps) {
  const { database, render, send, secrets, metrics, clock, logger } = deps;

  /** @returns false if the log has no further event */
  async function queueAll(id: string): Promise<boolean> {
    const first = await queueEvents(database, id, QUEUED_AT_ONCE);
    for (let count = first; count === QUEUED_AT_ONCE;) count = await queueEvents(database, id, QUEUED_AT_ONCE);
    return first > 0;
  }

  /**
   * Decides what follows from what is stored now: since the attempt began, the user can have paused, enabled or deleted
   * the webhook, given it another address, or asked for the event again.
   */
  function storeFailure(
    { id, workspaceId, url }: SendingWebhook,
    deliveryId: string,
    { attempt, retryAfterMs }: SentWebhook,
  ): Promise<JobResult> {
    return deps.withTransaction(async (tx) => {
      await deps.events.lock(workspaceId, tx);
      const current = await lockWebhook(tx, workspaceId, id);
      const failed = current && (await lockPendingDelivery(tx, deliveryId));
      if (failed === undefined) return { done: true };
      // The former address's answer does not count for the new one.
      if (current?.url !== url) return { againInMs: 0 };
      const startedAt = Date.parse(attempt.at);
      const failingMs = startedAt - (failed.failingSince?.getTime() ?? startedAt);
      const next = nextAttempt({ status: attempt.status, attempts: failed.attempts, failingMs, retryAfterMs });
      await storeFailed(tx, deliveryId, attempt, 'retryInMs' in next ? next.retryInMs : undefined);
      if ('retryInMs' in next) return { againInMs: next.retryInMs };
      const { disable: reason } = next;
      if (await disableWebhook(tx, id, reason)) {
        await tellUser(deps, { workspaceId, conversationId: null, text: disabledText(url, reason) }, tx);
        tx.afterCommit(() => logger.info({ webhook: id, reason }, 'a webhook was disabled'));
      }
      return { done: true };
    });
  }

  /** @returns undefined if the next event can follow */
  async function deliver(
    webhook: SendingWebhook,
    delivery: PendingDelivery,
    event: LoggedEvent,
    signal: AbortSignal,
  ): Promise<JobResult | undefined> {
    // Its subject is deleted, and the event for the deletion follows.
    if (event.kind !== 'durable') return void (await deleteDelivery(database, delivery.id));
    const { id: webhookId, url } = webhook;
    const body = { type: event.event, timestamp: event.at, data: event.payload };
    const sent = await send({ url, id: delivery.id, body, secrets: secrets.open(webhook.secrets) }, signal);
    metrics.attempted(sent.attempt.failure ?? 'delivered');
    if (sent.attempt.failure !== null) return storeFailure(webhook, delivery.id, sent);
    const continues = await storeDelivered(database, { webhookId, deliveryId: delivery.id }, sent.attempt);
    metrics.delivered((clock.now().getTime() - delivery.event.createdAt.getTime()) / 1_000);
    return continues ? undefined : { done: true };
  }

  return async ({ subjectId }: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    await queueAll(subjectId);
    for (;;) {
      signal.throwIfAborted();
      const webhook = await findSendingWebhook(database, subjectId);
      if (webhook === undefined) return { done: true };
      const pending = await listPendingDeliveries(database, subjectId, RENDERED_AT_ONCE);
      const waitMs = (pending[0]?.nextAttemptAt?.getTime() ?? 0) - clock.now().getTime();
      if (waitMs > 0) return { againInMs: waitMs };
      const rendered = await render(
        pending.map(({ event }) => event),
        database,
      );
      for (const [index, event] of rendered.entries()) {
        const delivery = pending[index];
        const ended = delivery && (await deliver(webhook, delivery, event, signal));
        if (ended !== undefined) return ended;
      }
      if (pending.length < RENDERED_AT_ONCE && !(await queueAll(subjectId))) return { done: true };
    }
  };
}

const REASONS: Record<DisabledReason, string> = {
  failing: 'no attempt to send an event has succeeded for three days',
  gone: 'the receiver answered that it no longer exists (410)',
};

/** Without path and query, which can contain secrets. */
const disabledText = (url: string, reason: DisabledReason): string =>
  `The webhook to ${new URL(url).host} was disabled: ${REASONS[reason]}. Its events wait until you enable it again, up to seven days.`;
