import { createClientAddress, parseSigningKeys } from '@uswarm/service-kit';
import type { Express } from 'express';
import { createApp } from './app.js';
import type { Handlers } from '../platform/http/handlers.js';
import { createInternalApp } from './internal-app.js';
import { pageSettings } from '../platform/http/page-settings.js';
import { createRequestContext } from '../platform/http/request-context.js';
import type { LeasedJob } from '../platform/jobs/leased-job.js';
import { startWorkers } from './start-workers.js';
import { startOrchestratorRelay } from '../events/outbox/start-relay.js';
import { handlersOf } from './handlers.js';
import { createModules, type Modules } from './modules.js';
import type { OrchestratorOptions } from './platform.js';

export type { OrchestratorOptions };

export interface Orchestrator {
  app: Express;
  internalApp: Express;
  ready: () => Promise<boolean>;
  close: () => Promise<void>;
}

/** Wires the orchestrator and starts its workers; nothing listens yet. The schema must be up to date. */
export async function createOrchestrator(options: OrchestratorOptions): Promise<Orchestrator> {
  const modules = await createModules(options);
  return startOrchestrator(options, modules, handlersOf(modules));
}

async function startBackground(
  { config, bus, metrics, logger }: OrchestratorOptions,
  { platform, integrations, workspaces, chat, webhooks, users }: Modules,
) {
  const { requests, background, leases, jobSignals } = platform;
  const { runtimes } = workspaces;
  const onRun = ({ workspaceId }: LeasedJob) => runtimes.use(workspaceId);
  const usingRuntimes = [...chat.turns.urgentJobs, ...chat.summaries.urgentJobs].map((job) => ({ ...job, onRun }));
  const workers = await startWorkers({
    urgent: [
      ...usingRuntimes,
      ...runtimes.urgentJobs,
      ...chat.transcripts.urgentJobs,
      ...chat.schedules.urgentJobs,
      ...chat.triggers.urgentJobs,
      ...webhooks.urgentJobs,
    ],
    maintenance: [
      ...workspaces.idempotency.jobs,
      ...workspaces.uploads.jobs,
      ...chat.turns.jobs,
      ...chat.agents.jobs,
      ...chat.artifacts.jobs,
      ...chat.receipts.jobs,
      ...chat.messages.jobs,
      ...workspaces.replay.jobs,
      ...webhooks.jobs,
      ...users.exports.jobs,
      ...users.imports.jobs,
      ...integrations.jobs,
      ...integrations.toolServers.jobs,
      ...users.account.jobs,
      ...users.push.jobs,
      ...users.admin.jobs,
    ],
    requests,
    background,
    leases,
    leaseMs: config.WORK_LEASE_MS,
    maintenanceWorkers: config.UPKEEP_WORKERS,
    jobSignals,
    metrics,
    logger,
  });
  const relay = startOrchestratorRelay({
    background,
    createViewContext: workspaces.createViewContext,
    bus,
    publisher: platform.publisher,
    epochs: platform.epochs,
    committed: platform.committed,
    leases,
    metrics,
    logger,
  });
  const webhookTrigger = webhooks.startTrigger();
  const watch = runtimes.startWatch();
  const gatewayWatch = platform.gateways.watch();
  const epochWatch = platform.epochs.watch(background.database, logger);
  return {
    async close() {
      const maintenanceClosed = workers.maintenance.close();
      await watch?.close();
      await webhookTrigger?.close();
      await workers.urgent.close();
      await runtimes.close();
      await relay.close();
      await gatewayWatch.close();
      await epochWatch.close();
      await maintenanceClosed;
    },
  };
}

export async function startOrchestrator(
  options: OrchestratorOptions,
  modules: Modules,
  handlers: Handlers,
): Promise<Orchestrator> {
  const { config, metrics, logger } = options;
  const { platform, integrations, workspaces, chat, webhooks, users } = modules;
  const { databases, identityHash, sourceName, rates } = platform;
  const background = await startBackground(options, modules);
  const requestContext = createRequestContext(logger, metrics);
  return {
    app: createApp({
      authenticator: users.auth.authenticator,
      handlers,
      permit: users.apiTokens.permit,
      doors: modules.doors,
      readPosition: workspaces.replay.readPosition,
      rates,
      addressOf: createClientAddress(config.HTTP_TRUSTED_PROXIES),
      sourceName,
      identityHash,
      requestContext: requestContext('client'),
      corsOrigins: config.CORS_ORIGINS,
      hstsMaxAgeS: config.HSTS_MAX_AGE_S,
      docsEnabled: config.DOCS_ENABLED,
      page: pageSettings(config),
      logger,
    }),
    internalApp: createInternalApp({
      keys: parseSigningKeys(config.INTERNAL_API_KEY, config.INTERNAL_API_KEY_PREVIOUS),
      gateways: platform.gateways,
      authenticator: users.auth.authenticator,
      adminRouter: users.admin.router,
      modelCallRouter: chat.modelCalls.router,
      users: users.users,
      database: databases.requests,
      devices: users.devices.service,
      subscriptions: workspaces.replay.subscriptions,
      readEventPage: workspaces.replay.readPage,
      messages: chat.messages.service,
      sourceName,
      rates,
      requestContext: requestContext('service'),
      logger,
    }),
    // Redis does not affect readiness: without it, requests are still stored, and `uswarm_event_bus_up` is 0.
    ready: users.core.online,
    async close() {
      await background.close();
      await platform.reader.close();
      await chat.files.close();
      await chat.transcripts.close();
      workspaces.uploads.close();
      rates.close();
      platform.security.close();
      await integrations.close();
      await integrations.apps.close();
      await integrations.toolServers.close();
      await webhooks.close();
      await Promise.all([users.push.close(), users.auth.close()]);
      await databases.close();
    },
  };
}
