import { backoffDelay } from '@uswarm/service-kit';
import type { LeasedJob } from '../../jobs/job-store.js';
import type { JobResult } from '../../jobs/job-worker.js';
import type { PushMetrics } from './push-metrics.js';
import { notificationOf } from './push-notification.js';
import type { PushResult, PushSender } from './push-sender.js';
import type { PushDevice, PushStore } from './push.store.js';

/** An older message is not announced. */
const MAX_AGE_MS = 3_600_000;
const RETRY = { initialMs: 5_000, maxMs: 10 * 60_000 };

export interface PushHandlerDeps {
  store: PushStore;
  sender: PushSender;
  /** Whether notifications contain names and a part of the message. */
  preview: boolean;
  metrics: PushMetrics;
}

const isRetry = (result: PushResult): result is { retryInMs: number } => typeof result === 'object';

/**
 * The handler of push jobs. A crash after a notification was sent repeats it; its collapse key lets the device replace the first one.
 */
export function createPushHandler({ store, sender, preview, metrics }: PushHandlerDeps) {
  const done = async (messageId: string, attempts: number): Promise<JobResult> => {
    if (attempts > 1) await store.clearDelivered(messageId);
    return { done: true };
  };

  return async ({ subjectId: messageId, attempts }: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    const due = await store.find(messageId);
    if (due === undefined || due.seen || due.decided) return done(messageId, attempts);
    if (due.ageMs > MAX_AGE_MS) {
      metrics.ended('expired');
      return done(messageId, attempts);
    }
    const { userId } = due;
    const notification = notificationOf(due, preview);
    const devices = await store.devices(userId, messageId);
    const results = await Promise.all(
      devices.map(async (device): Promise<[PushDevice, PushResult]> => [
        device,
        await sender.send(device.token, notification, signal),
      ]),
    );
    for (const [device, result] of results) {
      metrics.ended(isRetry(result) ? 'retried' : result);
      if (result === 'unregistered') await store.dropToken(userId, device);
    }
    const waits = results.flatMap(([, result]) => (isRetry(result) ? [result.retryInMs] : []));
    if (waits.length === 0) return done(messageId, attempts);
    const ended = results.filter(([, result]) => !isRetry(result));
    await store.addDelivered(
      messageId,
      userId,
      ended.map(([{ deviceId }]) => deviceId),
    );
    return { againInMs: Math.max(...waits, backoffDelay(RETRY, attempts - 1)) };
  };
}
