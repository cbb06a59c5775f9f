import type { EventBus } from '@uswarm/event-bus';
import {
  createSecurityLog,
  createSourceName,
  type Logger,
  type Registry,
  retry,
  systemClock,
} from '@uswarm/service-kit';
import { type OrchestratorConfig } from '../config.js';
import { createConnections } from '../records/connections.js';
import type { CommittedEvent } from '../records/event-log.js';
import { openDatabases } from '../platform/database/databases.js';
import { createReader } from '../workspaces/files/reader.js';
import { namesFlash, userSwarmModel } from '../workspaces/agents/default-model.js';
import type { AuthenticatorDeps } from '../accounts/auth/authenticator.js';
import { createIdentityHash } from '../accounts/auth/identity-hash.js';
import { loadAssets } from '../platform/core/assets.js';
import { loadPlans } from '../platform/core/catalog.js';
import { loadModelCatalog } from '../platform/core/models.js';
import { createEpochs } from '../events/epoch.js';
import { createEventPublisher } from '../events/event-publisher.js';
import { PARTITIONS_AHEAD } from '../events/event-pruning.js';
import { createGateways } from '../events/gateways.js';
import { toApiError } from '../platform/http/errors.js';
import { createPlans } from '../metering/plans.js';
import { createRateLimits } from '../platform/rate-limits/rate-limits.js';
import { pushDelayOf } from '../accounts/push/push.module.js';
import { createTurnSignals } from '../turns/turn-signals.js';
import { createWebhookTrigger } from '../events/webhooks/webhook-trigger.js';
import { createJobQueue } from '../platform/jobs/job-queue.js';
import { createLeaseKeeper } from '../platform/jobs/lease-keeper.js';
import { createJobSignals } from '../platform/jobs/job-signals.js';
import { createCommittedEvents } from '../events/outbox/committed-events.js';
import * as gatewayRecords from '../events/gateways.store.js';

export interface OrchestratorOptions {
  config: OrchestratorConfig;
  bus: EventBus;
  logger: Logger;
  metrics: Registry;
  version: string;
  environment: Record<string, string | undefined>;
  /** Undefined in production. */
  bypass?: AuthenticatorDeps['bypass'];
  /**
   * True if only this orchestrator uses the runtimes: then it stops leftover runtimes at start-up and all runtimes at
   * shutdown. Otherwise runtimes outlive the orchestrator, and the next one adopts them.
   */
  ownsRuntimes?: boolean;
}

export type Platform = ReturnType<typeof createPlatform>;

/** The first statements open a connection of each pool, which takes long where many services start concurrently. */
export async function readFirst(
  { config, logger }: OrchestratorOptions,
  { epochs, requests, gateways, background }: Platform,
) {
  const attempt = async (): Promise<void> => {
    // Fails early if Postgres does not report it.
    await epochs.read(requests.database);
    await gateways.refresh();
    await background.events.createPartitions(PARTITIONS_AHEAD);
  };
  const retryable = (error: unknown): boolean => {
    if (toApiError(error).code !== 'service_unavailable') return false;
    logger.warn({ err: error }, 'waiting for the database');
    return true;
  };
  await retry(attempt, { initialMs: 200, maxMs: 2_000, deadlineMs: config.DATABASE_WAIT_S * 1_000, retryable });
}

export function createPlatform({ config, bus, environment, metrics, logger }: OrchestratorOptions) {
  const epochs = createEpochs(config.EVENTS_EPOCH);
  const databases = openDatabases(config, metrics, epochs.onConnect);
  const jobSignals = createJobSignals(bus);
  const committed = createCommittedEvents();
  const gateways = createGateways({ database: databases.background, store: gatewayRecords, logger });
  const webhookTrigger = createWebhookTrigger();
  const onCommitted = (event: CommittedEvent): void => {
    committed.push(event);
    webhookTrigger.committed(event);
  };
  const signals = { jobSignals, onCommitted, pushDelayMs: pushDelayOf(config), logger };
  return {
    databases,
    epochs,
    jobSignals,
    committed,
    webhookTrigger,
    turnSignals: createTurnSignals(bus),
    requests: createConnections(databases.requests, signals),
    background: createConnections(databases.background, signals),
    leases: createLeaseKeeper({ store: createJobQueue(databases.leases), logger }),
    clock: systemClock,
    reader: createReader(logger),
    gateways,
    publisher: createEventPublisher({ bus, gateways, epoch: epochs.current, clock: systemClock }),
    plans: createPlans(loadPlans(config.PLANS_FILE)),
    models: loadModelCatalog({
      provider: config.MODEL_PROVIDER,
      defaultModel: userSwarmModel(config, environment),
      namesFlash: namesFlash(config, environment),
      file: config.MODELS_FILE,
    }),
    rates: createRateLimits({ config, redisUrl: config.REALTIME_REDIS_URL, metrics, logger }),
    assets: loadAssets(config.PUBLIC_URL),
    identityHash: createIdentityHash(config.IDENTITY_HASH_KEY),
    // Gateways have this secret too, so both services log the same name for an address.
    sourceName: createSourceName(config.INTERNAL_API_KEY, config.LOG_SOURCE_ADDRESS),
    security: createSecurityLog({ logger }),
  };
}
