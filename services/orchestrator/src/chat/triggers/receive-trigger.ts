import { randomUUIDv7 } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { TokenCipher } from '../../apps/integrations/token-cipher.js';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import { headerOf, verifiedDelivery } from '../../platform/http/webhook-signature.js';
import type { Idempotency } from '../../platform/idempotency/idempotency.service.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { RateLimits } from '../../platform/rate-limits/rate-limits.js';
import { lockTrigger, queueRun } from '../../records/schedule-rows.js';
import { TRIGGER_JOB } from '../../records/trigger-job.js';
import { findByUrlSecret, type OpenedTrigger } from '../../records/trigger-secrets.store.js';
import { bodyOf } from './trigger-body.js';
import type { TriggerMetrics } from './trigger-metrics.js';
import { hashOfSecret, isUrlSecret } from './url-secret.js';

export interface ReceiveTriggerDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'enqueue' | 'lock'>;
  idempotency: Pick<Idempotency, 'once'>;
  rates: Pick<RateLimits, 'trigger'>;
  cipher: Pick<TokenCipher, 'open'>;
  metrics: TriggerMetrics;
  clock: Clock;
  /** False if triggers are turned off. */
  isEnabled: boolean;
}

export interface TriggerRequest {
  /** From the URL. */
  secret: string;
  headers: IncomingHttpHeaders;
  /** Called once, when the URL is known and its limits are kept. */
  readBody(trigger: { userId: string }): Promise<Buffer>;
}

/**
 * Queues a run for a request to a trigger's URL.
 *
 * @returns the run id; a repeated request gets its first run's id, and GitHub's ping null
 * @throws ApiError `trigger_not_found`, `trigger_signature_invalid`, `trigger_paused`, `trigger_queue_full`,
 *   `rate_limited`, `user_banned`, `triggers_not_enabled`
 */
export type ReceiveTrigger = (request: TriggerRequest) => Promise<string | null>;

/** Senders try again after this time in ms, or with their own back-off. */
const QUEUE_RETRY_MS = 30_000;

/** Without a signature, headers that systems repeat with each attempt. */
const DELIVERY_HEADERS = ['webhook-id', 'idempotency-key', 'x-github-delivery'];

interface Received {
  runId: string | null;
  outcome: Parameters<TriggerMetrics['accepted']>[0];
}

export function createReceiveTrigger(deps: ReceiveTriggerDeps): ReceiveTrigger {
  const { withTransaction, database, jobs, metrics } = deps;

  /** @throws ApiError */
  async function open(secret: string): Promise<OpenedTrigger> {
    if (!deps.isEnabled) throw new ApiError('triggers_not_enabled');
    const trigger = isUrlSecret(secret) ? await findByUrlSecret(database, hashOfSecret(secret)) : undefined;
    if (trigger === undefined) throw new ApiError('trigger_not_found');
    if (trigger.isBanned) throw new ApiError('user_banned');
    await deps.rates.trigger(trigger.id, trigger.userId);
    return trigger;
  }

  /** Only what the signature covers tells signed deliveries apart: the rest can be changed in a replay. */
  function deliveryOf({ secret }: OpenedTrigger, headers: IncomingHttpHeaders, body: Buffer): string | undefined {
    if (secret === undefined)
      return DELIVERY_HEADERS.map((name) => headerOf(headers, name)).find((value) => value !== undefined);
    const key = deps.cipher.open(secret, secret).accessToken;
    const delivery = verifiedDelivery(headers, body, key, deps.clock.now());
    if (delivery === undefined) throw new ApiError('trigger_signature_invalid');
    return delivery;
  }

  async function receive({ secret, headers, readBody }: TriggerRequest): Promise<Received> {
    const trigger = await open(secret);
    const { id, workspaceId, userId } = trigger;
    const bytes = await readBody(trigger);
    const delivery = deliveryOf(trigger, headers, bytes);
    if (headerOf(headers, 'x-github-event') === 'ping') return { runId: null, outcome: 'ping' };
    const request = {
      userId,
      key: delivery === undefined ? undefined : `${id} ${delivery}`,
      operation: 'receiveTrigger',
      // Attempts of a delivery can differ.
      content: id,
    } as const;
    const newId = randomUUIDv7();
    const runId = await deps.idempotency.once(request, (claim) =>
      withTransaction(async (tx) => {
        await claim(newId, tx);
        await jobs.lock(TRIGGER_JOB, id, tx);
        const row = await lockTrigger(tx, workspaceId, id);
        if (row === undefined) throw new ApiError('trigger_not_found');
        if (row.status !== 'active') throw new ApiError('trigger_paused');
        if (!(await queueRun(tx, { id: newId, triggerId: id, body: bodyOf(headers, bytes) })))
          throw new ApiError('trigger_queue_full', { extra: { retry_after_ms: QUEUE_RETRY_MS } });
        await jobs.enqueue({ kind: TRIGGER_JOB, subjectId: id, workspaceId }, tx);
        return newId;
      }),
    );
    return { runId, outcome: runId === newId ? 'accepted' : 'repeated' };
  }

  return async (request) => {
    try {
      const { runId, outcome } = await receive(request);
      metrics.accepted(outcome);
      return runId;
    } catch (error) {
      metrics.refused(error);
      throw error;
    }
  };
}
