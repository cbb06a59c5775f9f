import type { Clock, Logger, Registry } from '@uswarm/service-kit';
import { createOutgoing } from '@uswarm/service-kit/outgoing';
import type { OrchestratorConfig } from '../../config.js';
import type { TokenCipher } from '../../apps/integrations/token-cipher.js';
import type { CreateViewContext } from '../../chat/message-view.js';
import type { JobDefinition, UrgentJobDefinition } from '../../platform/jobs/job-definition.js';
import type { JobSignals } from '../../platform/jobs/job-signals.js';
import { createPruning, pruningRow } from '../../platform/jobs/pruning.js';
import type { Connections } from '../../records/connections.js';
import { createCursorCodec } from '../../records/cursor.js';
import { pruneDeliveries, WEBHOOK_JOB } from '../../records/webhooks.store.js';
import type { WorkspaceAccess } from '../../workspaces/workspace-access.js';
import { createEventRenderer } from '../event-payloads.js';
import { createDeliveryService } from './deliveries.service.js';
import { createDelivery } from './delivery.js';
import { createSendWebhook } from './send-webhook.js';
import { createWebhookAccess } from './webhook-access.js';
import { createWebhookMetrics } from './webhook-metrics.js';
import { createWebhookSecrets } from './webhook-secrets.js';
import type { WebhookTrigger } from './webhook-trigger.js';
import { webhookHandlers } from './webhooks.routes.js';
import { createWebhookService, type WebhookServiceDeps } from './webhooks.service.js';

export interface WebhooksModuleDeps {
  config: WebhookServiceDeps['config'] &
    Pick<OrchestratorConfig, 'USER_WEBHOOKS' | 'USER_WEBHOOK_WORKERS' | 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS' | 'proxy'>;
  requests: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  background: Pick<Connections, 'database' | 'withTransaction' | 'events'>;
  jobSignals: Pick<JobSignals, 'notifier'>;
  access: WorkspaceAccess;
  cipher: TokenCipher;
  createViewContext: CreateViewContext;
  trigger: WebhookTrigger;
  version: string;
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

const PRUNING_JOB = 'webhook-pruning';
const KEPT_MS = 7 * 24 * 3_600_000;
/** Concurrent webhooks of one workspace. */
const PER_WORKSPACE = 4;
const CONNECT_MS = 10_000;

/** Sends workspace events to addresses that users name. */
export function createWebhooksModule(deps: WebhooksModuleDeps) {
  const { config, requests, background, trigger, clock, logger } = deps;
  const { database } = background;
  const outgoing = createOutgoing(config.proxy, {
    connectMs: CONNECT_MS,
    publicExcept: config.USER_WEBHOOKS_PRIVATE_HOSTS,
  });
  const send = createSendWebhook({ outgoing, clock, userAgent: `uswarm/${deps.version}` });
  const secrets = createWebhookSecrets(deps.cipher, logger);
  const delivery: UrgentJobDefinition = {
    type: WEBHOOK_JOB,
    concurrency: config.USER_WEBHOOK_WORKERS,
    perFairKey: PER_WORKSPACE,
    handle: createDelivery({
      ...background,
      render: createEventRenderer({ createViewContext: deps.createViewContext }),
      send,
      secrets,
      metrics: createWebhookMetrics(deps.metrics),
      clock,
      logger,
    }),
  };
  const pruning: JobDefinition = {
    type: PRUNING_JOB,
    handle: createPruning({
      prune: (before, limit) => pruneDeliveries(database, before, limit),
      keepMs: KEPT_MS,
      removed: 'old webhook deliveries deleted',
      clock,
      logger,
    }),
    atStart: pruningRow(PRUNING_JOB),
  };
  const access = createWebhookAccess(requests.database, deps.access, config.USER_WEBHOOKS);
  const service = createWebhookService({ config, ...requests, access, secrets, send, trigger, clock });
  const cursors = createCursorCodec(config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS);
  const deliveries = createDeliveryService({ ...requests, access, cursors });
  return {
    routes: webhookHandlers(service, deliveries),
    urgentJobs: config.USER_WEBHOOKS ? [delivery] : [],
    jobs: [pruning],
    startTrigger: () =>
      config.USER_WEBHOOKS ? trigger.start({ database, jobSignals: deps.jobSignals, logger }) : undefined,
    close: () => outgoing.close(),
  };
}
