import { LIMITS } from '@uswarm/contract';
import {
  createClientAddress,
  createSecurityLog,
  createSourceName,
  type Logger,
  parseSigningKeys,
  type Registry,
  systemClock,
} from '@uswarm/service-kit';
import type { EventBus } from '@uswarm/event-bus';
import type { Express } from 'express';
import { sql } from 'kysely';
import { createBackground } from './background.js';
import { connectionsOf, type OrchestratorConfig } from './config.js';
import { createConversing } from './conversing.js';
import { createBoundedRead } from './database/bounded-read.js';
import { openDatabases } from './database/databases.js';
import { createWithTransaction } from './database/transaction.js';
import { AUDIT_PRUNING_JOB } from './features/admin/audit.store.js';
import { createAgentAccess } from './features/agents/agent-access.js';
import { createAgentSettingsService } from './features/agents/agent-settings.service.js';
import { agentHandlers, agentSettingsHandlers, memoryHandlers } from './features/agents/agents.routes.js';
import { createAgentService } from './features/agents/agents.service.js';
import { defaultModel } from './features/agents/default-model.js';
import { createMemoryCursors } from './features/agents/memory-cursor.js';
import { createMemoryService } from './features/agents/memories.service.js';
import { loadAssets } from './features/core/assets.js';
import { loadAgentTemplates, loadModels, loadPlans, loadTools } from './features/core/catalog.js';
import { sharedHealth } from './features/core/health.js';
import type { AuthenticatorDeps } from './features/auth/authenticator.js';
import { createIdentityHash } from './features/auth/identity-hash.js';
import { coreHandlers } from './features/core/core.routes.js';
import { asyncApiSource, openApiSource } from './features/core/openapi.js';
import { createUsagePruning, USAGE_PRUNING, USAGE_PRUNING_JOB } from './features/account/usage-pruning.js';
import { createEventPruning, EVENT_PRUNING, EVENT_PRUNING_JOB } from './features/events/event-pruning.js';
import { createConversationCursors } from './features/conversations/conversation-cursor.js';
import { createIdempotency, IDEMPOTENCY_PRUNING_JOB } from './features/idempotency/idempotency.service.js';
import { createExports } from './features/exports/exports.js';
import { createIntegrations } from './features/integrations/integrations.js';
import { publishLegalFiles } from './features/legal/legal-files.js';
import { createCursorCodec } from './features/messages/cursor.js';
import type { Show } from './features/messages/message-view.js';
import { createPlans } from './features/plans/plans.js';
import { createRateLimits } from './features/rate-limits/rate-limits.js';
import { createRuntimeMetrics } from './features/runtimes/runtime-metrics.js';
import { createRuntimeRequests } from './features/runtimes/runtime-requests.js';
import { UPLOAD_JOB } from './features/uploads/upload-retention.js';
import { createUploads } from './features/uploads/uploads.js';
import { createUsageLimits } from './features/usage/usage-limits.js';
import { createProvision } from './features/workspaces/provision.js';
import { createWorkspaceAccess } from './features/workspaces/workspace-access.js';
import { createApp } from './http/app.js';
import type { Handlers } from './http/handlers.js';
import { createInternalApp } from './http/internal-app.js';
import { createRequestContext } from './http/request-context.js';
import { createTurnMetrics } from './features/turns/turn-metrics.js';
import { createBacklogStore } from './jobs/backlog.store.js';
import { registerBacklog } from './jobs/backlog-metrics.js';
import { createJobMetrics } from './jobs/job-metrics.js';
import { JOB_TYPES } from './jobs/job-types.js';
import { registerBusMetrics } from './outbox/bus-metrics.js';
import { createPeople } from './people.js';
import { createStores } from './stores.js';
import { createMaintenanceWorkers } from './jobs/maintenance-workers.js';
import { createLeaseKeeper } from './jobs/lease-keeper.js';
import { createWakeUps } from './jobs/wake-ups.js';
import { createJobStore } from './jobs/job-store.js';
import { createPruning, pruningRow } from './jobs/pruning.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface OrchestratorOptions {
  config: OrchestratorConfig;
  bus: EventBus;
  logger: Logger;
  metrics: Registry;
  version: string;
  /** Settings of model providers. */
  environment: Record<string, string | undefined>;
  /** The end-to-end bypass; production has none. */
  bypass?: AuthenticatorDeps['bypass'];
  /**
   * No other orchestrator uses these runtimes: leftovers are stopped at the start, and all of them at the
   * end. Otherwise runtimes outlive the orchestrator, and the next one adopts them.
   */
  ownsRuntimes?: boolean;
  /** Lets a test replace handlers. */
  changeHandlers?: (handlers: Handlers) => Handlers;
}

export interface Orchestrator {
  app: Express;
  internalApp: Express;
  ready: () => Promise<boolean>;
  close: () => Promise<void>;
}

/** Wires the orchestrator together; nothing listens yet. The schema must be up to date. */
export async function createOrchestrator(options: OrchestratorOptions): Promise<Orchestrator> {
  const { config, bus, logger, metrics } = options;
  const clock = systemClock;
  const databases = openDatabases(config, metrics);
  const database = databases.requests;
  const withTransaction = createWithTransaction(database, logger);
  const wakeUps = createWakeUps();
  const stores = createStores(database, wakeUps);
  registerBusMetrics(metrics, bus);
  registerBacklog(metrics, { store: createBacklogStore(database), kinds: JOB_TYPES });
  const jobMetrics = createJobMetrics(metrics, JOB_TYPES);
  const turnMetrics = createTurnMetrics(metrics, { tools: loadTools().map(({ name }) => name), clock });
  const runtimeMetrics = createRuntimeMetrics(metrics);
  // Before anything works in the background: what fails here leaves nothing behind that goes on.
  await publishLegalFiles(config, stores.legal);
  const plans = createPlans(loadPlans(config.PLANS_FILE));
  const limits = createUsageLimits({ store: stores.usage, plans, clock });
  const rates = createRateLimits({ config, redisUrl: config.REALTIME_REDIS_URL, metrics, logger });
  const idempotency = createIdempotency(stores.idempotency);
  const uploads = createUploads({ config, stores, withTransaction, idempotency, metrics, clock, logger });
  const exports = createExports({ config, stores, withTransaction, objects: uploads.objects, plans, clock });
  const assets = loadAssets(config.PUBLIC_URL);
  const show: Show = () => ({ now: clock.now(), avatar: assets.avatarOf, attachment: uploads.attachments.render });
  const leases = createLeaseKeeper({ store: createJobStore(databases.leases), logger });
  const backgroundStores = createStores(databases.background, wakeUps);
  const background = await createBackground({
    ...options,
    stores: backgroundStores,
    leases,
    withTransaction: createWithTransaction(databases.background, logger),
    limits: createUsageLimits({ store: backgroundStores.usage, plans, clock }),
    jobMetrics,
    turnMetrics,
    runtimeMetrics,
    wakeUps,
    show,
    clock,
  });
  const integrations = await createIntegrations({
    config,
    stores,
    assets,
    stateSecret: config.CURSOR_KEY,
    withTransaction,
    metrics,
    clock,
    logger,
  });

  const runtimes = createRuntimeRequests({
    store: stores.runtimes,
    jobs: stores.jobs,
    makeDueNow: backgroundStores.jobs.makeDueNow,
    metrics: runtimeMetrics,
  });
  const access = createWorkspaceAccess(stores.workspaces);
  const agentAccess = createAgentAccess(stores.agents);
  const cursors = createCursorCodec(config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS);
  const agents = createAgentService({
    store: stores.agents,
    history: stores.agentHistory,
    workspaces: access,
    access: agentAccess,
    cursors,
    memoryLimit: config.MEMORIES_PER_AGENT,
    show,
  });
  const agentSettings = createAgentSettingsService({
    store: stores.agentSettings,
    tools: loadTools(assets.url),
    defaultModel: defaultModel(config, options.environment),
  });
  const memories = createMemoryService({
    withTransaction,
    store: stores.memories,
    access: agentAccess,
    cursors: createMemoryCursors(config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    limits: { perAgent: config.MEMORIES_PER_AGENT, contentBytes: config.MEMORY_BYTES },
  });
  const provision = createProvision({ ...stores, runtimes, agentTemplates: loadAgentTemplates() });
  const conversing = createConversing({
    config,
    bus,
    stores,
    withTransaction,
    boundedRead: createBoundedRead(database),
    requestConnections: connectionsOf(config).requests,
    background,
    runtimes,
    provision,
    limits,
    rates,
    metrics: turnMetrics,
    attachments: uploads.attachments,
    access,
    cursors,
    conversationCursors: createConversationCursors(config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    idempotency,
    show,
    clock,
  });

  const naming = {
    identityHash: createIdentityHash(config.IDENTITY_HASH_KEY),
    // A secret that gateways have too, so that both can name an address alike.
    sourceName: createSourceName(config.INTERNAL_API_KEY, config.LOG_SOURCE_ADDRESS),
  };
  const security = createSecurityLog({ logger });
  const people = createPeople({
    ...options,
    ...naming,
    security,
    stores,
    withTransaction,
    runtimes,
    provision,
    integrations,
    plans,
    clock,
  });

  const online = (): Promise<boolean> =>
    sql`SELECT 1`.execute(database).then(
      () => true,
      () => false,
    );
  const pruning = createEventPruning({
    store: stores.events,
    keepMs: config.EVENTS_KEPT_DAYS * DAY_MS,
    clock,
    logger,
  });
  const keyPruning = createPruning({
    prune: stores.idempotency.prune,
    keepMs: LIMITS.idempotencyKeptHours * HOUR_MS,
    removed: 'old idempotency keys were removed',
    clock,
    logger,
  });
  const auditPruning = createPruning({
    prune: stores.audit.pruneSessions,
    keepMs: LIMITS.sessionAuditKeptDays * DAY_MS,
    removed: 'old sign-ins and logouts were removed from the audit log',
    clock,
    logger,
  });
  const idempotencyPruning = pruningRow(IDEMPOTENCY_PRUNING_JOB);
  for (const row of [EVENT_PRUNING, USAGE_PRUNING, idempotencyPruning, pruningRow(AUDIT_PRUNING_JOB)]) {
    await withTransaction((tx) => stores.jobs.enqueue(row, tx));
  }
  const upkeep = createMaintenanceWorkers({
    store: stores.jobs,
    leases,
    logger,
    workers: config.UPKEEP_WORKERS,
    metrics: jobMetrics,
    handlers: {
      [UPLOAD_JOB]: uploads.keep,
      [EVENT_PRUNING_JOB]: pruning,
      [USAGE_PRUNING_JOB]: createUsagePruning({ store: stores.deletedAccounts, clock }),
      [IDEMPOTENCY_PRUNING_JOB]: keyPruning,
      [AUDIT_PRUNING_JOB]: auditPruning,
      ...exports.upkeep,
      ...integrations.upkeep,
    },
  });
  const requestContext = createRequestContext(logger, metrics);
  const handlers: Handlers = {
    ...coreHandlers({
      version: options.version,
      models: loadModels(config.MODEL_PROVIDER),
      online: sharedHealth(online, clock),
      openApi: openApiSource(config.PUBLIC_URL),
      asyncApi: asyncApiSource(config.PUBLIC_URL),
      assets,
    }),
    ...people.handlers,
    ...agentHandlers(agents),
    ...agentSettingsHandlers(agentSettings),
    ...memoryHandlers(memories),
    ...conversing.handlers,
    ...uploads.handlers,
    ...exports.handlers,
    ...integrations.handlers,
  };

  return {
    app: createApp({
      ...naming,
      authenticator: people.authenticator,
      handlers: options.changeHandlers?.(handlers) ?? handlers,
      rates,
      addressOf: createClientAddress(config.HTTP_TRUSTED_PROXIES),
      requestContext: requestContext('client'),
      corsOrigins: config.CORS_ORIGINS,
      hstsMaxAgeS: config.HSTS_MAX_AGE_S,
      logger,
    }),
    internalApp: createInternalApp({
      ...naming,
      keys: parseSigningKeys(config.INTERNAL_API_KEY, config.INTERNAL_API_KEY_PREVIOUS),
      authenticator: people.authenticator,
      adminRouter: people.adminRouter,
      users: stores.users,
      sessions: stores.sessions,
      workspaces: conversing.workspaces,
      messages: conversing.messages,
      rates,
      requestContext: requestContext('service'),
      logger,
    }),
    // Without Redis everything is still stored and acknowledged: that is `uswarm_event_bus_up`, not readiness.
    ready: online,
    async close() {
      await Promise.all([background.close(), upkeep.close()]);
      uploads.close();
      rates.close();
      security.close();
      await integrations.close();
      await databases.close();
    },
  };
}
