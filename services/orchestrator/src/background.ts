import type { Clock } from '@uswarm/service-kit';
import { callKeys, idleSuspendAfterMs } from './config.js';
import type { Transact } from './database/database.js';
import { createEquipment } from './features/agents/equipment.js';
import { loadTools } from './features/core/catalog.js';
import { createEventRenderer } from './features/events/event-payloads.js';
import { createRelay } from './features/events/relay.js';
import { createRelayMetrics } from './features/events/relay-metrics.js';
import type { Show } from './features/messages/message-view.js';
import { chooseDriver } from './features/runtimes/choose-driver.js';
import { createLifecycle } from './features/runtimes/lifecycle.js';
import { createRuntimeClient } from './features/runtimes/runtime-client.js';
import { createRuntimeMetrics } from './features/runtimes/runtime-metrics.js';
import { createRuntimeWatch } from './features/runtimes/runtime-watch.js';
import { RUNTIME_WORK } from './features/runtimes/runtime-wishes.js';
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
import { createWorkQueue, type WorkQueue } from './work/work-queue.js';

export interface BackgroundDeps extends Pick<
  OrchestratorOptions,
  'config' | 'bus' | 'logger' | 'metrics' | 'environment' | 'ownsRuntimes'
> {
  /** On the connections of background work, as `transaction` and `limits`. */
  stores: Stores;
  leases: LeaseKeeper;
  transaction: Transact;
  limits: UsageLimits;
  workMetrics: WorkMetrics;
  turnMetrics: TurnMetrics;
  show: Show;
  clock: Clock;
}

export interface Background {
  /** To be called after each commit that left an event to publish or a reply to write. */
  committed: () => void;
  wakeRuntimes: () => void;
  /** To be called after a commit that wants a suspended runtime to run again. */
  runtimeWoken: (workspaceId: string) => void;
  stopInRuntime: StopInRuntime;
  /** Has the replies of a workspace looked at now. */
  hurryTurns: (workspaceId: string) => Promise<void>;
  close: () => Promise<void>;
}

/** What the orchestrator does besides answering requests: events, runtimes, replies. */
export async function createBackground(deps: BackgroundDeps): Promise<Background> {
  const { config, bus, logger, stores, transaction, clock, ownsRuntimes = false } = deps;
  const publish = bus.publish;
  const relay = createRelay({
    transaction,
    store: stores.events,
    render: createEventRenderer({ ...stores, show: deps.show }),
    publish,
    metrics: createRelayMetrics(deps.metrics),
    logger,
  });
  const client = createRuntimeClient(callKeys(config));
  const metrics = createRuntimeMetrics(deps.metrics);
  const { driver, close: closeDriver } = await chooseDriver({
    config,
    environment: deps.environment,
    runtimeProcesses: stores.runtimeProcesses,
    ownsRuntimes,
    logger,
  });

  const hurry = async (queue: WorkQueue, kind: string, workspaceId: string): Promise<void> => {
    await stores.work.hurry(kind, workspaceId);
    queue.wake();
  };
  const hurryRuntime = (workspaceId: string): Promise<void> => hurry(runtimes, RUNTIME_WORK, workspaceId);
  const runtimes: WorkQueue = createWorkQueue({
    kind: RUNTIME_WORK,
    store: stores.work,
    leases: deps.leases,
    leaseMs: config.WORK_LEASE_MS,
    metrics: deps.workMetrics,
    logger,
    concurrency: config.RUNTIME_WORKERS,
    handle: createLifecycle({
      transaction,
      store: stores.runtimes,
      work: stores.work,
      driver,
      client,
      events: stores.events,
      agents: stores.agents,
      publish,
      committed: relay.wake,
      ready: (workspaceId) => hurry(turns, TURN_WORK, workspaceId),
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
      transaction,
      limits: deps.limits,
      equip: createEquipment({ settings: stores.agentSettings, memories: stores.memories, tools: loadTools() }),
      client,
      toolTokens: createToolTokens(config.SVC_MCP_SIGNING_KEY),
      publish,
      committed: relay.wake,
      hurryRuntime,
      deadlineMs: config.TURN_DEADLINE_S * 1_000,
      metrics: deps.turnMetrics,
      clock,
      logger,
    }),
  });
  const hintRuntime = (workspaceId: string): void => {
    hurryRuntime(workspaceId).catch((error: unknown) => logger.debug({ err: error }, 'a hint was lost'));
  };
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
          wake: runtimes.wake,
          clock,
          logger,
        });

  return {
    committed() {
      relay.wake();
      turns.wake();
    },
    wakeRuntimes: runtimes.wake,
    stopInRuntime: createStopInRuntime(stores.runtimes, client, logger),
    hurryTurns: (workspaceId) => hurry(turns, TURN_WORK, workspaceId),
    runtimeWoken(workspaceId) {
      metrics.woken();
      hintRuntime(workspaceId);
    },
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
