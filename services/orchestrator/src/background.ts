import type { Clock } from '@uswarm/service-kit';
import { callKeys, idleSuspendAfterMs } from './config.js';
import type { WithTransaction } from './database/database.js';
import { createEquipment } from './features/agents/equipment.js';
import { loadTools } from './features/core/catalog.js';
import { createEventRenderer } from './features/events/event-payloads.js';
import { createRelay } from './features/events/relay.js';
import { createRelayMetrics } from './features/events/relay-metrics.js';
import type { Show } from './features/messages/message-view.js';
import { chooseDriver } from './features/runtimes/choose-driver.js';
import { createLifecycle } from './features/runtimes/lifecycle.js';
import { createRuntimeClient } from './features/runtimes/runtime-client.js';
import type { RuntimeMetrics } from './features/runtimes/runtime-metrics.js';
import { createRuntimeWatch } from './features/runtimes/runtime-watch.js';
import { RUNTIME_WORK } from './features/runtimes/runtime-requests.js';
import { createToolTokens } from './features/runtimes/tool-tokens.js';
import { createStopInRuntime, type StopInRuntime } from './features/turns/stop-in-runtime.js';
import { TURN_WORK } from './features/turns/turn-queue.js';
import type { TurnMetrics } from './features/turns/turn-metrics.js';
import { createTurnRunner } from './features/turns/turn-runner.js';
import type { UsageLimits } from './features/usage/usage-limits.js';
import type { OrchestratorOptions } from './options.js';
import type { Stores } from './stores.js';
import type { LeaseKeeper } from './work/lease-keeper.js';
import type { WorkMetrics } from './work/work-metrics.js';
import { OUTBOX_TOPIC, type WakeUps } from './work/wake-ups.js';
import { createWorkQueue, type WorkQueue } from './work/work-queue.js';

export interface BackgroundDeps extends Pick<
  OrchestratorOptions,
  'config' | 'bus' | 'logger' | 'metrics' | 'environment' | 'ownsRuntimes'
> {
  /** On the connections of background work, as `transaction` and `limits`. */
  stores: Stores;
  leases: LeaseKeeper;
  withTransaction: WithTransaction;
  limits: UsageLimits;
  workMetrics: WorkMetrics;
  turnMetrics: TurnMetrics;
  runtimeMetrics: RuntimeMetrics;
  wakeUps: WakeUps;
  show: Show;
  clock: Clock;
}

export interface Background {
  stopInRuntime: StopInRuntime;
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

  const runtimes: WorkQueue = createWorkQueue({
    kind: RUNTIME_WORK,
    store: stores.work,
    leases: deps.leases,
    leaseMs: config.WORK_LEASE_MS,
    metrics: deps.workMetrics,
    logger,
    concurrency: config.RUNTIME_WORKERS,
    handle: createLifecycle({
      withTransaction,
      store: stores.runtimes,
      work: stores.work,
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
  const turns: WorkQueue = createWorkQueue({
    kind: TURN_WORK,
    store: {
      ...stores.work,
      claim: (kind, limit, leaseMs) => stores.work.claimFairly(kind, limit, leaseMs, config.TURNS_PER_USER),
    },
    leases: deps.leases,
    leaseMs: config.WORK_LEASE_MS,
    metrics: deps.workMetrics,
    logger,
    concurrency: config.TURN_WORKERS,
    handle: createTurnRunner({
      ...stores,
      withTransaction,
      limits: deps.limits,
      equip: createEquipment({ settings: stores.agentSettings, memories: stores.memories, tools: loadTools() }),
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
  deps.wakeUps.subscribe(RUNTIME_WORK, runtimes.wake);
  deps.wakeUps.subscribe(TURN_WORK, turns.wake);
  // A replica without runtime workers leaves runtimes to the others.
  const watch =
    config.RUNTIME_WORKERS === 0
      ? undefined
      : createRuntimeWatch({
          store: stores.runtimes,
          work: stores.work,
          driver,
          client,
          metrics,
          clock,
          logger,
        });

  return {
    stopInRuntime: createStopInRuntime(stores.runtimes, client, logger),
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
