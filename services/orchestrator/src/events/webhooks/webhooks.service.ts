import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { ApiError, type Webhook, type WebhookAttempt, type WebhookWithSecret } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import { TRIGGER_PATH } from '../../chat/triggers/url-secret.js';
import type { OrchestratorConfig } from '../../config.js';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import { definedFields } from '../../platform/http/defined-fields.js';
import { addressProblem, canonicalAddress } from '../../platform/http/public-url.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import { appendAudit } from '../../records/audit.store.js';
import { lockUser } from '../../records/lock-user.js';
import {
  changeWebhook,
  deleteWebhook,
  enqueueWebhook,
  findSendingWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  lockWebhook,
  replaceSecret,
  type WebhookChange,
  type WebhookRow,
  type WebhookSettings,
} from '../../records/webhooks.store.js';
import type { WebhookAccess, WebhookPath } from './webhook-access.js';
import type { SendWebhook } from './send-webhook.js';
import { newWebhookSecret } from '../../platform/http/webhook-signature.js';
import type { WebhookSecrets } from './webhook-secrets.js';
import type { WebhookTrigger } from './webhook-trigger.js';

export interface WebhookServiceDeps {
  config: Pick<OrchestratorConfig, 'USER_WEBHOOKS_PER_WORKSPACE' | 'USER_WEBHOOKS_PRIVATE_HOSTS' | 'PUBLIC_URL'>;
  database: Database;
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'enqueue'>;
  access: WebhookAccess;
  secrets: WebhookSecrets;
  send: SendWebhook;
  trigger: Pick<WebhookTrigger, 'watch'>;
  clock: Clock;
}

/** Absent fields stay. */
export type WebhookUpdate = { [Field in keyof WebhookChange]?: WebhookChange[Field] | undefined };

/** All methods throw ApiError `workspace_not_found` and `webhook_not_found`; all but `delete` `webhooks_not_enabled`. */
export interface WebhookService {
  list(userId: string, workspaceId: string): Promise<Webhook[]>;
  /** @throws ApiError `validation_failed`, `webhook_limit_reached` */
  create(userId: string, workspaceId: string, settings: WebhookSettings): Promise<WebhookWithSecret>;
  /** @throws ApiError `validation_failed` */
  update(path: WebhookPath, change: WebhookUpdate): Promise<Webhook>;
  delete(path: WebhookPath): Promise<void>;
  rotateSecret(path: WebhookPath, overlapMs: number): Promise<WebhookWithSecret>;
  test(path: WebhookPath, signal: AbortSignal): Promise<WebhookAttempt>;
}

const webhookView = (row: WebhookRow): Webhook => ({
  id: row.id,
  url: row.url,
  description: row.description,
  events: row.events,
  state: row.state,
  disabled_reason: row.disabledReason,
  failing_since: row.failingSince?.toISOString() ?? null,
  previous_secret_expires_at: row.previousSecretExpiresAt?.toISOString() ?? null,
  created_at: row.createdAt.toISOString(),
});

export function createWebhookService(deps: WebhookServiceDeps): WebhookService {
  const { config, database, withTransaction, jobs, access, secrets, send, trigger, clock } = deps;

  const triggers = config.PUBLIC_URL === undefined ? undefined : new URL(`${config.PUBLIC_URL}${TRIGGER_PATH}`);

  function problemOf(url: URL): string | undefined {
    // Each event would start a run, whose events would start the next one.
    if (url.host === triggers?.host && url.pathname.startsWith(`${triggers.pathname}/`)) return 'must not be a trigger';
    return addressProblem(url, config.USER_WEBHOOKS_PRIVATE_HOSTS);
  }

  function readUrl(text: string): string {
    const url = URL.parse(text);
    const message = url === null ? 'must be a URL' : problemOf(url);
    if (url === null || message !== undefined)
      throw new ApiError('validation_failed', { extra: { fields: [{ path: 'url', message }] } });
    return canonicalAddress(url);
  }

  const record = (verb: string, { userId, id }: WebhookPath, tx: Transaction, details = {}): Promise<void> =>
    appendAudit(tx, { actor: 'user', action: `webhook.${verb}`, userId, subjectId: id, details });

  async function storeSecret(
    { userId, id: webhookId }: WebhookPath,
    overlapMs: number,
    tx: Transaction,
  ): Promise<string> {
    const secret = newWebhookSecret();
    await replaceSecret(tx, { webhookId, overlapMs, ...secrets.seal(secret, { userId, webhookId }) });
    return secret;
  }

  /** @throws ApiError `webhook_not_found` */
  async function viewOf({ workspaceId, id }: WebhookPath, tx: Transaction): Promise<Webhook> {
    const row = await findWebhook(tx, workspaceId, id);
    if (row === undefined) throw new ApiError('webhook_not_found');
    return webhookView(row);
  }

  return {
    async list(userId, workspaceId) {
      await access.requireEnabled({ userId, workspaceId });
      return (await listWebhooks(database, workspaceId)).map(webhookView);
    },

    async create(userId, workspaceId, settings) {
      await access.requireEnabled({ userId, workspaceId });
      const path = { userId, workspaceId, id: randomUUIDv7() };
      const webhook = { ...settings, ...path, url: readUrl(settings.url) };
      return withTransaction(async (tx) => {
        if (!(await lockUser(tx, userId))) throw new ApiError('user_deleted');
        if ((await listWebhooks(tx, workspaceId)).length >= config.USER_WEBHOOKS_PER_WORKSPACE)
          throw new ApiError('webhook_limit_reached');
        await insertWebhook(tx, webhook);
        const secret = await storeSecret(path, 0, tx);
        await record('create', path, tx, { host: new URL(webhook.url).host });
        tx.afterCommit(() => trigger.watch(workspaceId));
        return { ...(await viewOf(path, tx)), secret };
      });
    },

    async update(path, { url, ...change }) {
      await access.requireEnabled(path);
      const address = url === undefined ? {} : { url: readUrl(url) };
      return withTransaction(async (tx) => {
        const changed = await changeWebhook(tx, path.workspaceId, path.id, { ...definedFields(change), ...address });
        if (!changed) throw new ApiError('webhook_not_found');
        await record('change', path, tx, { ...(change.state && { state: change.state }) });
        if (change.state === 'enabled' || url !== undefined) await enqueueWebhook(jobs, path, tx);
        if (change.state === 'enabled') tx.afterCommit(() => trigger.watch(path.workspaceId));
        return viewOf(path, tx);
      });
    },

    async delete(path) {
      await access.requireWorkspace(path);
      await withTransaction(async (tx) => {
        if (!(await deleteWebhook(tx, path.workspaceId, path.id))) throw new ApiError('webhook_not_found');
        await record('delete', path, tx);
      });
    },

    async rotateSecret(path, overlapMs) {
      await access.requireEnabled(path);
      return withTransaction(async (tx) => {
        if ((await lockWebhook(tx, path.workspaceId, path.id)) === undefined) throw new ApiError('webhook_not_found');
        const secret = await storeSecret(path, overlapMs, tx);
        await record('rotate-secret', path, tx);
        return { ...(await viewOf(path, tx)), secret };
      });
    },

    async test(path, signal) {
      await access.requireWebhook(path);
      const webhook = await findSendingWebhook(database, path.id, true);
      if (webhook === undefined) throw new ApiError('webhook_not_found');
      const body = {
        type: 'webhook.test',
        timestamp: clock.now().toISOString(),
        data: { workspace_id: path.workspaceId },
      };
      const keys = secrets.open(webhook.secrets);
      const { attempt } = await send({ url: webhook.url, id: randomUUID(), body, secrets: keys }, signal);
      return attempt;
    },
  };
}
