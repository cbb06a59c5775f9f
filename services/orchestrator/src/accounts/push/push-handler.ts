import { backoffDelay } from '@uswarm/service-kit';
import type { WithTransaction, Database } from '../../platform/database/database.js';
import type { LeasedJob } from '../../platform/jobs/job-queue.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import type { PushJobs } from '../../records/push-jobs.js';
import type { PushMetrics } from './push-metrics.js';
import { notificationOf, withdrawalOf } from './push-notification.js';
import type { PushMessage, PushResult } from './push-sender.js';
import type { PushSenders } from './push-senders.js';
import {
  type PushDevice,
  findDuePush,
  listPushDevices,
  countBadge,
  addDelivered,
  findOutdatedNotifications,
  removeDelivered,
  dropToken,
} from './push.store.js';

/** An older message is not announced. */
const MAX_AGE_MS = 3_600_000;
/** A notification that could not be withdrawn by then stays until the user removes it. */
const MAX_WITHDRAWALS = 20;
const RETRY = { initialMs: 5_000, maxMs: 10 * 60_000 };
const DONE: JobResult = { done: true };

export interface PushHandlerDeps {
  database: Database;
  senders: PushSenders;
  withTransaction: WithTransaction;
  jobs: Pick<PushJobs, 'withdraw'>;
  /** True if notifications contain names and a part of the message. */
  preview: boolean;
  metrics: PushMetrics;
}

type Retry = { retryInMs: number };
type JobHandler = (job: LeasedJob, signal: AbortSignal) => Promise<JobResult>;

const isRetry = (result: PushResult): result is Retry => typeof result === 'object';

const againAfter = (retries: readonly Retry[], attempts: number): JobResult => ({
  againInMs: Math.max(...retries.map(({ retryInMs }) => retryInMs), backoffDelay(RETRY, attempts - 1)),
});

/** Devices on services without settings receive nothing. */
const reachable = <Device extends PushDevice>(devices: readonly Device[], senders: PushSenders): Device[] =>
  devices.filter(({ service }) => senders[service] !== undefined);

/**
 * Handles push jobs. A crash after a notification was sent repeats it; its collapse key lets the device replace the
 * first one.
 */
export function createPushHandler(deps: PushHandlerDeps): JobHandler {
  const { database, senders, withTransaction, jobs, preview, metrics } = deps;

  return async ({ subjectId: messageId, attempts }, signal) => {
    const due = await findDuePush(database, messageId);
    if (due === undefined || due.seen || due.decided || due.muted) return DONE;
    const { userId } = due;
    const devices = reachable(await listPushDevices(database, userId, messageId), senders);
    if (due.ageMs > MAX_AGE_MS) {
      for (const { service } of devices) metrics.ended('notification', service, 'expired');
      return DONE;
    }
    if (devices.length === 0) return DONE;
    const message = notificationOf(due, await countBadge(database, userId), preview);
    const results = await Promise.all(devices.map((device) => send(deps, userId, device, message, signal)));
    const shown = devices.filter((_, index) => results[index] === 'sent');
    await addDelivered(
      database,
      due,
      shown.map(({ deviceId }) => deviceId),
    );
    const now = await findDuePush(database, messageId);
    if (now === undefined || now.seen || now.decided)
      await withTransaction((tx) => jobs.withdraw({ messageIds: [messageId] }, tx));
    const retries = results.filter(isRetry);
    return retries.length === 0 ? DONE : againAfter(retries, attempts);
  };
}

export function createWithdrawalHandler(deps: Pick<PushHandlerDeps, 'database' | 'senders' | 'metrics'>): JobHandler {
  const { database, senders } = deps;

  return async ({ subjectId: conversationId, attempts }, signal) => {
    const outdated = reachable(await findOutdatedNotifications(database, conversationId), senders);
    const [first] = outdated;
    if (first === undefined) return DONE;
    const badge = await countBadge(database, first.userId);
    const results = await Promise.all(
      outdated.map(async (device) => {
        const message = withdrawalOf({ ...device, conversationId }, badge);
        const result = await send(deps, device.userId, device, message, signal);
        if (!isRetry(result) || attempts >= MAX_WITHDRAWALS) await removeDelivered(database, device);
        return result;
      }),
    );
    const retries = results.filter(isRetry);
    return retries.length === 0 || attempts >= MAX_WITHDRAWALS ? DONE : againAfter(retries, attempts);
  };
}

/** Counts the attempt, and removes a token that is no longer valid. */
async function send(
  { database, senders, metrics }: Pick<PushHandlerDeps, 'database' | 'senders' | 'metrics'>,
  userId: string,
  device: PushDevice,
  message: PushMessage,
  signal: AbortSignal,
): Promise<PushResult> {
  const result = (await senders[device.service]?.send(device, message, signal)) ?? 'rejected';
  const kind = message.alert === null ? 'withdrawal' : 'notification';
  metrics.ended(kind, device.service, isRetry(result) ? 'retried' : result);
  if (result === 'unregistered') await dropToken(database, userId, device);
  return result;
}
