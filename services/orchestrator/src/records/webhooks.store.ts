import { randomUUIDv7 } from 'node:crypto';
import type { DurableEventName, WebhookAttempt } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../platform/database/database.js';
import { inMs } from '../platform/database/in-ms.js';
import { insertOrRepeatJobs, type JobQueue } from '../platform/jobs/job-queue.js';
import type { StoredEvent } from './event-log.js';

/** Sends the waiting events of one webhook. */
export const WEBHOOK_JOB = 'webhook';

export interface WebhookSettings {
  url: string;
  description: string;
  /** Empty: all. */
  events: DurableEventName[];
}

export type DisabledReason = 'failing' | 'gone';

export interface WebhookRow extends WebhookSettings {
  id: string;
  state: 'enabled' | 'paused' | 'disabled';
  disabledReason: DisabledReason | null;
  failingSince: Date | null;
  previousSecretExpiresAt: Date | null;
  createdAt: Date;
}

export interface SealedSecret {
  keyId: string;
  sealed: Buffer;
}

export interface SecretRow extends SealedSecret {
  userId: string;
  provider: string;
}

/** A webhook that may send, with the secrets that sign, newest first. */
export interface SendingWebhook {
  id: string;
  workspaceId: string;
  url: string;
  secrets: SecretRow[];
}

export interface DeliveryRow {
  id: string;
  seq: number;
  type: DurableEventName;
  occurredAt: Date;
  state: 'pending' | 'delivered';
  attempts: number;
  nextAttemptAt: Date | null;
  lastAttemptAt: Date | null;
  durationMs: number | null;
  status: number | null;
  response: string;
  failure: WebhookAttempt['failure'];
}

/** A delivery whose turn has come, or will. */
export interface PendingDelivery {
  id: string;
  nextAttemptAt: Date | null;
  event: StoredEvent;
}

export interface FailedAttempts {
  attempts: number;
  failingSince: Date | null;
}

/** Secrets of a webhook that sign at the same time. */
const SECRETS_KEPT = 10;

/** Waits and the time until it is disabled begin again. */
const WITHOUT_FAILURES = { attempts: 0, failing_since: null, next_attempt_at: null } as const;

const DELIVERY = [
  'id',
  'seq',
  'type',
  'occurred_at as occurredAt',
  'state',
  'attempts',
  'next_attempt_at as nextAttemptAt',
  'last_attempt_at as lastAttemptAt',
  'duration_ms as durationMs',
  'status',
  'response',
  'failure',
] as const;

const selectWebhooks = (db: Database, workspaceId: string) =>
  db
    .selectFrom('webhooks as w')
    .select(['w.id', 'w.url', 'w.description', 'w.events', 'w.state', 'w.disabled_reason as disabledReason'])
    .select('w.created_at as createdAt')
    .select((eb) => [
      eb
        .selectFrom('webhook_deliveries as d')
        .select('d.failing_since')
        .whereRef('d.webhook_id', '=', 'w.id')
        .where('d.state', '=', 'pending')
        .orderBy('d.seq')
        .limit(1)
        .as('failingSince'),
      eb
        .selectFrom('webhook_secrets as s')
        .select((s) => s.fn.max('s.expires_at').as('expires_at'))
        .whereRef('s.webhook_id', '=', 'w.id')
        .where('s.expires_at', '>', sql<Date>`now()`)
        .as('previousSecretExpiresAt'),
    ])
    .where('w.workspace_id', '=', workspaceId);

/** Oldest first. */
export const listWebhooks = (db: Database, workspaceId: string): Promise<WebhookRow[]> =>
  selectWebhooks(db, workspaceId).orderBy('w.created_at').orderBy('w.id').execute();

export const findWebhook = (db: Database, workspaceId: string, id: string): Promise<WebhookRow | undefined> =>
  selectWebhooks(db, workspaceId).where('w.id', '=', id).executeTakeFirst();

/** Concurrent changes wait until the transaction ends. @returns undefined if the webhook is not found */
export const lockWebhook = (tx: Transaction, workspaceId: string, id: string): Promise<{ url: string } | undefined> =>
  tx
    .selectFrom('webhooks')
    .select('url')
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .forNoKeyUpdate()
    .executeTakeFirst();

/** The webhook receives the events after the present one. */
export async function insertWebhook(
  tx: Transaction,
  { id, workspaceId, url, description, events }: WebhookSettings & { id: string; workspaceId: string },
): Promise<void> {
  await sql`
    INSERT INTO webhooks (id, workspace_id, url, description, events, queued_seq)
    SELECT ${id}, id, ${url}, ${description}, ${events}::text[], last_seq FROM workspaces WHERE id = ${workspaceId}`.execute(
    tx,
  );
}

export interface WebhookChange extends Partial<WebhookSettings> {
  state?: 'enabled' | 'paused';
}

/** Enabling and a new address forget failed attempts. @returns false if the webhook is not found */
export async function changeWebhook(
  tx: Transaction,
  workspaceId: string,
  id: string,
  { state, ...settings }: WebhookChange,
): Promise<boolean> {
  const states = state === undefined ? {} : { state, disabled_reason: null };
  const { numUpdatedRows } = await tx
    .updateTable('webhooks')
    .set({ id, ...settings, ...states })
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  if (state === 'enabled' || settings.url !== undefined) {
    await tx
      .updateTable('webhook_deliveries')
      .set(WITHOUT_FAILURES)
      .where('webhook_id', '=', id)
      .where('state', '=', 'pending')
      .execute();
  }
  return true;
}

/** @returns false if the webhook is not found */
export async function deleteWebhook(tx: Transaction, workspaceId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('webhooks')
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/**
 * Stores the current secret of a locked webhook. The one before signs for `overlapMs` more, and older ones as long as
 * they would have: a client that repeats a rotation has not given the receiver the secrets between. Without an overlap,
 * no earlier one signs: a secret that leaked is replaced like this.
 */
export async function replaceSecret(
  tx: Transaction,
  { webhookId, userId, provider, keyId, sealed, overlapMs }: SecretRow & { webhookId: string; overlapMs: number },
): Promise<void> {
  await tx
    .updateTable('webhook_secrets')
    .set({ expires_at: inMs(overlapMs) })
    .where('webhook_id', '=', webhookId)
    .where('expires_at', 'is', null)
    .execute();
  await tx
    .insertInto('webhook_secrets')
    .values({ id: randomUUIDv7(), webhook_id: webhookId, user_id: userId, provider, key_id: keyId, tokens: sealed })
    .execute();
  const hasEnded = overlapMs === 0 ? sql`expires_at IS NOT NULL` : sql`expires_at <= now()`;
  await sql`
    DELETE FROM webhook_secrets WHERE webhook_id = ${webhookId} AND (${hasEnded} OR id IN (
      SELECT id FROM webhook_secrets WHERE webhook_id = ${webhookId} ORDER BY expires_at DESC NULLS FIRST OFFSET ${SECRETS_KEPT}
    ))`.execute(tx);
}

/** @param isAnyState also if it is paused or disabled */
export async function findSendingWebhook(
  db: Database,
  id: string,
  isAnyState = false,
): Promise<SendingWebhook | undefined> {
  const { rows } = await sql<Omit<SendingWebhook, 'secrets'> & SecretRow>`
    SELECT w.id, w.workspace_id AS "workspaceId", w.url, s.user_id AS "userId", s.provider, s.key_id AS "keyId", s.tokens AS sealed
    FROM webhooks w JOIN webhook_secrets s ON s.webhook_id = w.id AND (s.expires_at IS NULL OR s.expires_at > now())
    WHERE w.id = ${id} AND (${isAnyState} OR w.state = 'enabled')
    ORDER BY s.expires_at DESC NULLS FIRST`.execute(db);
  const [first] = rows;
  if (first === undefined) return undefined;
  const secrets = rows.map(({ userId, provider, keyId, sealed }) => ({ userId, provider, keyId, sealed }));
  return { id, workspaceId: first.workspaceId, url: first.url, secrets };
}

/** Adds deliveries for events that have none yet. @returns the number of events read, at most `limit` */
export async function queueEvents(db: Database, id: string, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    WITH webhook AS MATERIALIZED (
      SELECT id, workspace_id, events, queued_seq FROM webhooks WHERE id = ${id} AND state = 'enabled' FOR UPDATE
    ), found AS MATERIALIZED (
      SELECT e.seq, e.type, e.subject_id, e.conversation_id, e.created_at
      FROM webhook w JOIN workspace_events e ON e.workspace_id = w.workspace_id AND e.seq > w.queued_seq
      ORDER BY e.seq LIMIT ${limit}
    ), queued AS (
      INSERT INTO webhook_deliveries (id, webhook_id, seq, type, subject_id, conversation_id, occurred_at)
      SELECT gen_random_uuid(), w.id, f.seq, f.type, f.subject_id, f.conversation_id, f.created_at
      FROM webhook w, found f WHERE w.events = '{}' OR f.type = ANY(w.events)
      ON CONFLICT (webhook_id, seq) DO NOTHING
    ), moved AS (
      UPDATE webhooks SET queued_seq = (SELECT max(seq) FROM found) WHERE id = ${id} AND EXISTS (SELECT FROM found)
    )
    SELECT count(*)::int AS count FROM found`.execute(db);
  return rows[0]?.count ?? 0;
}

/** In the order of their events. */
export async function listPendingDeliveries(db: Database, id: string, limit: number): Promise<PendingDelivery[]> {
  const { rows } = await sql<Omit<PendingDelivery, 'event'> & StoredEvent>`
    SELECT d.id, d.next_attempt_at AS "nextAttemptAt", w.workspace_id AS "workspaceId", d.seq, d.type, d.subject_id AS "subjectId",
      d.conversation_id AS "conversationId", d.occurred_at AS "createdAt"
    FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
    WHERE d.webhook_id = ${id} AND d.state = 'pending' ORDER BY d.seq LIMIT ${limit}`.execute(db);
  return rows.map(({ id: deliveryId, nextAttemptAt, ...event }) => ({ id: deliveryId, nextAttemptAt, event }));
}

const attempted = ({ at, duration_ms, status, response, failure }: WebhookAttempt) => ({
  attempts: sql<number>`attempts + 1`,
  last_attempt_at: at,
  duration_ms,
  status,
  response,
  failure,
});

/**
 * The next event can have failed, if this one was before and was sent again. Then its waits begin again.
 *
 * @returns false if the webhook sends nothing more: it is paused, disabled or deleted, or the event is not to be sent
 */
export async function storeDelivered(
  db: Database,
  { webhookId, deliveryId }: { webhookId: string; deliveryId: string },
  attempt: WebhookAttempt,
): Promise<boolean> {
  const row = await db
    .with('delivered', (query) =>
      query
        .updateTable('webhook_deliveries')
        .set({ ...attempted(attempt), state: 'delivered', failing_since: null, next_attempt_at: null })
        .where('id', '=', deliveryId)
        .where('state', '=', 'pending')
        .returning('webhook_id'),
    )
    .with('recovered', (query) =>
      query
        .updateTable('webhook_deliveries')
        .set(WITHOUT_FAILURES)
        .where('failing_since', 'is not', null)
        .where('id', '=', (eb) =>
          eb
            .selectFrom('webhook_deliveries')
            .select('id')
            .where('webhook_id', '=', webhookId)
            .where('state', '=', 'pending')
            .where('id', '<>', deliveryId)
            .orderBy('seq')
            .limit(1),
        ),
    )
    .selectFrom('delivered as d')
    .innerJoin('webhooks as w', 'w.id', 'd.webhook_id')
    .select('w.state')
    .executeTakeFirst();
  return row?.state === 'enabled';
}

/** @returns undefined if it is not to be sent any more */
export function lockPendingDelivery(tx: Transaction, id: string): Promise<FailedAttempts | undefined> {
  return tx
    .selectFrom('webhook_deliveries')
    .select(['attempts', 'failing_since as failingSince'])
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .forUpdate()
    .executeTakeFirst();
}

/** @param retryInMs undefined: when the webhook is enabled again */
export async function storeFailed(
  tx: Transaction,
  deliveryId: string,
  attempt: WebhookAttempt,
  retryInMs: number | undefined,
): Promise<void> {
  await tx
    .updateTable('webhook_deliveries')
    .set({
      ...attempted(attempt),
      failing_since: sql<Date>`coalesce(failing_since, ${attempt.at}::timestamptz)`,
      next_attempt_at: retryInMs === undefined ? null : inMs(retryInMs),
    })
    .where('id', '=', deliveryId)
    .execute();
}

/** @returns false if it was not enabled: the user has paused or deleted it, or another process has disabled it */
export async function disableWebhook(tx: Transaction, id: string, reason: DisabledReason): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('webhooks')
    .set({ state: 'disabled', disabled_reason: reason })
    .where('id', '=', id)
    .where('state', '=', 'enabled')
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** For events whose subject has been deleted since. */
export async function deleteDelivery(db: Database, id: string): Promise<void> {
  await db.deleteFrom('webhook_deliveries').where('id', '=', id).execute();
}

/** Last event first. @param beforeSeq only events before it */
export function listDeliveries(
  db: Database,
  webhookId: string,
  {
    state,
    beforeSeq,
    limit,
  }: { state?: DeliveryRow['state'] | undefined; beforeSeq?: number | undefined; limit: number },
): Promise<DeliveryRow[]> {
  let query = db.selectFrom('webhook_deliveries').select(DELIVERY).where('webhook_id', '=', webhookId);
  if (state !== undefined) query = query.where('state', '=', state);
  if (beforeSeq !== undefined) query = query.where('seq', '<', beforeSeq);
  return query.orderBy('seq', 'desc').limit(limit).execute();
}

/** @returns undefined if it does not exist */
export function replayDelivery(tx: Transaction, webhookId: string, id: string): Promise<DeliveryRow | undefined> {
  return tx
    .updateTable('webhook_deliveries')
    .set({ state: 'pending', ...WITHOUT_FAILURES })
    .where('id', '=', id)
    .where('webhook_id', '=', webhookId)
    .returning(DELIVERY)
    .executeTakeFirst();
}

/** @returns how many */
export async function replayDeliveries(tx: Transaction, webhookId: string, since: Date): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('webhook_deliveries')
    .set({ state: 'pending', ...WITHOUT_FAILURES })
    .where('webhook_id', '=', webhookId)
    .where('state', '=', 'delivered')
    .where('occurred_at', '>=', since)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Deletes up to `limit` deliveries whose event is older. @returns how many */
export async function pruneDeliveries(db: Database, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    DELETE FROM webhook_deliveries WHERE id IN (
      SELECT id FROM webhook_deliveries WHERE occurred_at < ${before} ORDER BY occurred_at LIMIT ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

const jobsOf = (condition: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  SELECT w.id, w.workspace_id, w.id, 0, NULL::uuid FROM webhooks w JOIN workspaces s ON s.id = w.workspace_id
  WHERE w.state = 'enabled' AND ${condition}`;

/** Makes the webhook's waiting events due now. */
export const enqueueWebhook = (
  jobs: Pick<JobQueue, 'enqueue'>,
  { id, workspaceId }: { id: string; workspaceId: string },
  tx: Transaction,
): Promise<void> => jobs.enqueue({ kind: WEBHOOK_JOB, subjectId: id, workspaceId }, tx);

/** Adds jobs for each webhook in these workspaces, which have new events. */
export async function wakeWebhooks(db: Database, workspaceIds: readonly string[]): Promise<void> {
  await insertOrRepeatJobs(WEBHOOK_JOB, jobsOf(sql`w.workspace_id = ANY(${[...workspaceIds]}::uuid[])`)).execute(db);
}

/**
 * Adds missing jobs: the process that stored an event may have ended before it added one.
 *
 * @returns each workspace with a webhook that sends
 */
export async function wakeMissedWebhooks(db: Database): Promise<string[]> {
  const waits = sql`EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.state = 'pending')`;
  const { rows } = await sql<{ id: string }>`
    WITH woken AS (
      ${insertOrRepeatJobs(
        WEBHOOK_JOB,
        jobsOf(sql`(w.queued_seq < s.last_seq OR ${waits})
          AND NOT EXISTS (SELECT FROM work WHERE kind = ${WEBHOOK_JOB} AND subject_id = w.id)`),
      )}
    )
    SELECT DISTINCT workspace_id AS id FROM webhooks WHERE state = 'enabled'`.execute(db);
  return rows.map(({ id }) => id);
}
