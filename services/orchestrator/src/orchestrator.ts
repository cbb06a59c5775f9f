import type { EventBus } from '@uswarm/event-bus';
import {
  createClientAddress,
  createSecurityLog,
  createSourceName,
  type Logger,
  parseSigningKeys,
  type Registry,
  systemClock,
} from '@uswarm/service-kit';
import type { Express } from 'express';
import { connectionsOf, type OrchestratorConfig } from './config.js';
import { createBoundedRead } from './database/bounded-read.js';
import { createConnections } from './database/connections.js';
import { openDatabases } from './database/databases.js';
import { createAccountModule } from './features/account/account.module.js';
import { createAdminModule } from './features/admin/admin.module.js';
import { createAgentsModule } from './features/agents/agents.module.js';
import { createAuthModule } from './features/auth/auth.module.js';
import type { AuthenticatorDeps } from './features/auth/authenticator.js';
import { createIdentityHash } from './features/auth/identity-hash.js';
import { createSessionRevocationPublisher } from './features/auth/session-revocation-publisher.js';
import { createConversationsModule } from './features/conversations/conversations.module.js';
import { loadAssets } from './features/core/assets.js';
import { loadPlans } from './features/core/catalog.js';
import { createCoreModule } from './features/core/core.module.js';
import { createDevicesModule } from './features/devices/devices.module.js';
import { createEventsModule } from './features/events/events.module.js';
import { createExportsModule } from './features/exports/exports.module.js';
import { createIdempotencyModule } from './features/idempotency/idempotency.module.js';
import { createIntegrationsModule } from './features/integrations/integrations.module.js';
import { createLegalModule } from './features/legal/legal.module.js';
import { createCursorCodec } from './features/messages/cursor.js';
import type { Show } from './features/messages/message-view.js';
import { createMessagesModule } from './features/messages/messages.module.js';
import { createPlans } from './features/plans/plans.js';
import { createRateLimits } from './features/rate-limits/rate-limits.js';
import { createRuntimesModule } from './features/runtimes/runtimes.module.js';
import { createTurnsModule } from './features/turns/turns.module.js';
import { createUploadsModule } from './features/uploads/uploads.module.js';
import { createUsageModule } from './features/usage/usage.module.js';
import { createUsersModule } from './features/users/users.module.js';
import { createWorkspacesModule } from './features/workspaces/workspaces.module.js';
import { createApp } from './http/app.js';
import type { Handlers } from './http/handlers.js';
import { createInternalApp } from './http/internal-app.js';
import { createRequestContext } from './http/request-context.js';
import { createJobStore } from './jobs/job-store.js';
import { createLeaseKeeper } from './jobs/lease-keeper.js';
import { startWorkers } from './jobs/start-workers.js';
import { createWakeUps } from './jobs/wake-ups.js';
import { startRelay } from './outbox/start-relay.js';

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
}

export interface Orchestrator {
  app: Express;
  internalApp: Express;
  ready: () => Promise<boolean>;
  close: () => Promise<void>;
}

type Platform = ReturnType<typeof createPlatform>;
type Modules = Awaited<ReturnType<typeof createModules>>;

/** Creates and wires the orchestrator, and starts its workers; nothing listens yet. The schema must be up to date. */
export async function createOrchestrator(options: OrchestratorOptions): Promise<Orchestrator> {
  const modules = await createModules(options);
  return startOrchestrator(options, modules, handlersOf(modules));
}

/** Creates the modules of all features. No worker runs yet, so a failure leaves no work behind. */
export async function createModules(options: OrchestratorOptions) {
  const platform = createPlatform(options);
  const legal = await createLegalModule({ config: options.config, database: platform.requests.database });
  const workspaces = await createWorkspaceModules(options, platform);
  const users = await createUserModules(options, platform, workspaces);
  return { platform, legal, workspaces, users };
}

/** What several features use. */
function createPlatform({ config, metrics, logger }: OrchestratorOptions) {
  const databases = openDatabases(config, metrics);
  const wakeUps = createWakeUps();
  return {
    databases,
    wakeUps,
    requests: createConnections(databases.requests, wakeUps, logger),
    background: createConnections(databases.background, wakeUps, logger),
    leases: createLeaseKeeper({ store: createJobStore(databases.leases), logger }),
    clock: systemClock,
    plans: createPlans(loadPlans(config.PLANS_FILE)),
    rates: createRateLimits({ config, redisUrl: config.REALTIME_REDIS_URL, metrics, logger }),
    assets: loadAssets(config.PUBLIC_URL),
    identityHash: createIdentityHash(config.IDENTITY_HASH_KEY),
    // Gateways have this secret too, so both services log the same name for an address.
    sourceName: createSourceName(config.INTERNAL_API_KEY, config.LOG_SOURCE_ADDRESS),
    security: createSecurityLog({ logger }),
  };
}

/** Workspaces and everything in them. */
async function createWorkspaceModules(options: OrchestratorOptions, platform: Platform) {
  const { config, bus, environment, metrics, logger } = options;
  const { requests, background, clock, plans, rates, assets } = platform;
  const { database, withTransaction, jobs, events } = requests;
  const usage = createUsageModule({ database, plans, clock });
  const idempotency = createIdempotencyModule({ database, clock, logger });
  const uploads = createUploadsModule({
    config,
    connections: requests,
    idempotency: idempotency.service,
    metrics,
    clock,
    logger,
  });
  const { attachments } = uploads;
  const show: Show = () => ({ now: clock.now(), avatar: assets.avatarOf, attachment: attachments.render });
  const replay = createEventsModule({ config, database, withTransaction, events, show, clock, logger });
  const runtimes = await createRuntimesModule({
    config,
    environment,
    ownsRuntimes: options.ownsRuntimes ?? false,
    database,
    jobs,
    background,
    bus,
    metrics,
    clock,
    logger,
  });
  const workspaces = createWorkspacesModule({
    config,
    connections: requests,
    replay: replay.service,
    runtimes: runtimes.requests,
    idempotency: idempotency.service,
    clock,
  });
  const { access } = workspaces;
  const turns = createTurnsModule({
    config,
    requests,
    background,
    bus,
    limits: usage.limits,
    plans,
    access,
    client: runtimes.client,
    metrics,
    clock,
    logger,
  });
  const cursors = createCursorCodec(config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS);
  const agents = createAgentsModule({ config, environment, database, withTransaction, access, cursors, assets, show });
  const conversations = createConversationsModule({
    config,
    connections: requests,
    access,
    idempotency: idempotency.service,
    stopInRuntime: turns.stopInRuntime,
    live: turns.live,
    show,
  });
  const messages = createMessagesModule({
    config,
    connections: requests,
    boundedRead: createBoundedRead(database),
    requestConnections: connectionsOf(config).requests,
    runtimes: runtimes.requests,
    queue: turns.queue,
    stops: turns.stops,
    stopInRuntime: turns.stopInRuntime,
    live: turns.live,
    turnMetrics: turns.metrics,
    rates,
    attachments,
    access,
    cursors,
    show,
  });
  return { usage, idempotency, uploads, show, replay, runtimes, workspaces, turns, agents, conversations, messages };
}

type WorkspaceModules = Awaited<ReturnType<typeof createWorkspaceModules>>;

/** Users, their accounts and authentication, and the operators. */
async function createUserModules(
  options: OrchestratorOptions,
  platform: Platform,
  { runtimes, uploads, workspaces }: WorkspaceModules,
) {
  const { config, metrics, logger } = options;
  const { requests, clock, plans, assets, identityHash, security, sourceName } = platform;
  const { database, withTransaction } = requests;
  const core = createCoreModule({ config, version: options.version, database, assets, clock });
  const users = createUsersModule({ database, plans, clock });
  const devices = createDevicesModule({ database, clock, logger });
  const integrations = await createIntegrationsModule({
    config,
    assets,
    stateSecret: config.CURSOR_KEY,
    connections: requests,
    metrics,
    clock,
    logger,
  });
  const exports = createExportsModule({
    config,
    connections: requests,
    objects: uploads.objects,
    profile: users.service.profile,
    clock,
  });
  const sessionEnds = createSessionRevocationPublisher(options.bus);
  const account = createAccountModule({
    config,
    connections: requests,
    runtimes: runtimes.requests,
    integrations: integrations.service,
    sessionEnds,
    provision: workspaces.provision,
    identityHash,
    clock,
  });
  const auth = createAuthModule({
    config,
    database,
    users: { wasDeleted: account.service.wasDeleted, ensure: account.service.signUp },
    devices: devices.service,
    identityHash,
    security,
    bypass: options.bypass,
    metrics,
    clock,
  });
  const admin = createAdminModule({
    config,
    database,
    withTransaction,
    wakeUps: platform.wakeUps,
    runtimes: runtimes.requests,
    sessionEnds,
    plans,
    security,
    sourceName,
    clock,
    logger,
  });
  return { core, users, devices, integrations, exports, account, auth, admin };
}

/** The handlers of all routes; a missing one does not compile. */
export const handlersOf = ({ legal, workspaces, users }: Modules): Handlers => ({
  ...users.core.routes,
  ...users.account.routes,
  ...users.users.routes,
  ...legal.routes,
  ...users.devices.routes,
  ...workspaces.usage.routes,
  ...workspaces.agents.routes,
  ...workspaces.workspaces.routes,
  ...workspaces.conversations.routes,
  ...workspaces.messages.routes,
  ...workspaces.uploads.routes,
  ...users.exports.routes,
  ...users.integrations.routes,
});

/** Starts the workers of all features, the relay and the comparison of runtimes. */
async function startBackground(
  { config, bus, metrics, logger }: OrchestratorOptions,
  { platform, workspaces, users }: Modules,
) {
  const { requests, background, leases, wakeUps } = platform;
  const workers = await startWorkers({
    urgent: [...workspaces.turns.urgentJobs, ...workspaces.runtimes.urgentJobs],
    maintenance: [
      ...workspaces.idempotency.jobs,
      ...workspaces.uploads.jobs,
      ...workspaces.replay.jobs,
      ...users.exports.jobs,
      ...users.integrations.jobs,
      ...users.account.jobs,
      ...users.admin.jobs,
    ],
    requests,
    background,
    leases,
    leaseMs: config.WORK_LEASE_MS,
    maintenanceWorkers: config.UPKEEP_WORKERS,
    wakeUps,
    metrics,
    logger,
  });
  const relay = startRelay({ background, show: workspaces.show, bus, wakeUps, metrics, logger });
  const watch = workspaces.runtimes.startWatch();
  return {
    async close() {
      const maintenanceClosed = workers.maintenance.close();
      await watch?.close();
      await workers.urgent.close();
      await workspaces.runtimes.close();
      await relay.close();
      await maintenanceClosed;
    },
  };
}

/** Starts the background work, and creates the two HTTP applications. */
export async function startOrchestrator(
  options: OrchestratorOptions,
  modules: Modules,
  handlers: Handlers,
): Promise<Orchestrator> {
  const { config, metrics, logger } = options;
  const { platform, workspaces, users } = modules;
  const { databases, identityHash, sourceName, rates } = platform;
  const background = await startBackground(options, modules);
  const requestContext = createRequestContext(logger, metrics);
  return {
    app: createApp({
      authenticator: users.auth.authenticator,
      handlers,
      rates,
      addressOf: createClientAddress(config.HTTP_TRUSTED_PROXIES),
      sourceName,
      identityHash,
      requestContext: requestContext('client'),
      corsOrigins: config.CORS_ORIGINS,
      hstsMaxAgeS: config.HSTS_MAX_AGE_S,
      logger,
    }),
    internalApp: createInternalApp({
      keys: parseSigningKeys(config.INTERNAL_API_KEY, config.INTERNAL_API_KEY_PREVIOUS),
      authenticator: users.auth.authenticator,
      adminRouter: users.admin.router,
      users: users.users.store,
      sessions: users.auth.sessions,
      workspaces: workspaces.workspaces.service,
      messages: workspaces.messages.service,
      sourceName,
      rates,
      requestContext: requestContext('service'),
      logger,
    }),
    // Redis does not affect readiness: without it everything is still stored, and `uswarm_event_bus_up` is 0.
    ready: users.core.online,
    async close() {
      await background.close();
      workspaces.uploads.close();
      rates.close();
      platform.security.close();
      await users.integrations.close();
      await databases.close();
    },
  };
}
