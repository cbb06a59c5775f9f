import type { Clock } from '@uswarm/service-kit';
import { callKeys, idleSuspendAfterMs } from './config.js';
import type { WithTransaction } from './database/database.js';
import { createAgentContextLoader } from './features/agents/agent-context.js';
import { loadTools } from './features/core/catalog.js';
import { createEventRenderer } from './features/events/event-payloads.js';
import { createRelay } from './outbox/relay.js';
import { createRelayMetrics } from './outbox/relay-metrics.js';
import type { Show } from './features/messages/message-view.js';
import { chooseDriver } from './features/runtimes/drivers/choose-driver.js';
import { createRuntimeReconciler } from './features/runtimes/runtime-reconciler.js';
import { createRuntimeClient } from './features/runtimes/runtime-client.js';
import type { RuntimeMetrics } from './features/runtimes/runtime-metrics.js';
import { createRuntimeWatch } from './features/runtimes/runtime-watch.js';
import { RUNTIME_JOB } from './features/runtimes/runtime-requests.js';
import { createToolTokens } from './features/runtimes/tool-tokens.js';
import { createRuntimeTurnCancellation, type CancelRuntimeTurn } from './features/turns/cancel-runtime-turn.js';
import { TURN_JOB } from './features/turns/turn-queue.js';
import type { TurnMetrics } from './features/turns/turn-metrics.js';
import { createTurnRunner } from './features/turns/turn-runner.js';
import type { UsageLimits } from './features/usage/usage-limits.js';
import type { OrchestratorOptions } from './orchestrator.js';
import type { Stores } from './stores.js';
import type { LeaseKeeper } from './jobs/lease-keeper.js';
import type { JobMetrics } from './jobs/job-metrics.js';
import { OUTBOX_TOPIC, type WakeUps } from './jobs/wake-ups.js';
import { createJobWorker, type JobWorker } from './jobs/job-worker.js';

export interface BackgroundDeps extends Pick<
  OrchestratorOptions,
  'config' | 'bus' | 'logger' | 'metrics' | 'environment' | 'ownsRuntimes'
> {
  /** On the connections of background work, as `transaction` and `limits`. */
  stores: Stores;
  leases: LeaseKeeper;
  withTransaction: WithTransaction;
  limits: UsageLimits;
  jobMetrics: JobMetrics;
  turnMetrics: TurnMetrics;
  runtimeMetrics: RuntimeMetrics;
  wakeUps: WakeUps;
  show: Show;
  clock: Clock;
}

export interface Background {
  stopInRuntime: CancelRuntimeTurn;
  close: () => Promise<void>;
}

/** What the orchestrator does besides answering requests: events, runtimes, replies. */
export async function createBackground(deps: BackgroundDeps): Promise<Background> {
  const { config, bus, logger, stores, withTransaction, clock, ownsRuntimes = false } = deps;
  const publish = bus.publish;
  const relay = createRelay({
    withTransaction,
    store: stores.events,
    render: createEventRenderer({ ...stores, show: deps.show }),
    publish,
    metrics: createRelayMetrics(deps.metrics),
    logger,
  });
  const client = createRuntimeClient(callKeys(config));
  const metrics = deps.runtimeMetrics;
  const { driver, close: closeDriver } = await chooseDriver({
    config,
    environment: deps.environment,
    runtimeProcesses: stores.runtimeProcesses,
    ownsRuntimes,
    logger,
  });

  const runtimes: JobWorker = createJobWorker({
    kind: RUNTIME_JOB,
    store: stores.jobs,
    leases: deps.leases,
    leaseMs: config.WORK_LEASE_MS,
    metrics: deps.jobMetrics,
    logger,
    concurrency: config.RUNTIME_WORKERS,
    handle: createRuntimeReconciler({
      withTransaction,
      store: stores.runtimes,
      jobs: stores.jobs,
      driver,
      client,
      events: stores.events,
      agents: stores.agents,
      publish,
      idleSuspendAfterMs: idleSuspendAfterMs(config),
      metrics,
      clock,
      logger,
    }),
  });
  const turns: JobWorker = createJobWorker({
    kind: TURN_JOB,
    store: {
      ...stores.jobs,
      claim: (kind, limit, leaseMs) => stores.jobs.claimFairly(kind, limit, leaseMs, config.TURNS_PER_USER),
    },
    leases: deps.leases,
    leaseMs: config.WORK_LEASE_MS,
    metrics: deps.jobMetrics,
    logger,
    concurrency: config.TURN_WORKERS,
    handle: createTurnRunner({
      ...stores,
      withTransaction,
      limits: deps.limits,
      loadAgentContext: createAgentContextLoader({
        settings: stores.agentSettings,
        memories: stores.memories,
        tools: loadTools(),
      }),
      client,
      toolTokens: createToolTokens(config.SVC_MCP_SIGNING_KEY),
      publish,
      deadlineMs: config.TURN_DEADLINE_S * 1_000,
      metrics: deps.turnMetrics,
      clock,
      logger,
    }),
  });
  deps.wakeUps.subscribe(OUTBOX_TOPIC, relay.wake);
  deps.wakeUps.subscribe(RUNTIME_JOB, runtimes.wake);
  deps.wakeUps.subscribe(TURN_JOB, turns.wake);
  // A replica without runtime workers leaves runtimes to the others.
  const watch =
    config.RUNTIME_WORKERS === 0
      ? undefined
      : createRuntimeWatch({
          store: stores.runtimes,
          jobs: stores.jobs,
          driver,
          client,
          metrics,
          clock,
          logger,
        });

  return {
    stopInRuntime: createRuntimeTurnCancellation(stores.runtimes, client, logger),
    async close() {
      await watch?.close();
      await Promise.all([turns.close(), runtimes.close()]);
      // Only now: a runtime that ends while the lifecycle runs is started again.
      await closeDriver();
      await relay.close();
      client.close();
    },
  };
}
