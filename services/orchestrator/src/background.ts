import { fileURLToPath } from 'node:url';
import type { Clock } from '@uswarm/service-kit';
import type { Transact } from './database/database.js';
import { createEventRenderer } from './features/events/event-payloads.js';
import { createRelay } from './features/events/relay.js';
import { createLifecycle } from './features/runtimes/lifecycle.js';
import { createProcessDriver } from './features/runtimes/process-driver.js';
import { createRuntimeClient } from './features/runtimes/runtime-client.js';
import { runtimeEnvironment } from './features/runtimes/runtime-environment.js';
import { RUNTIME_WORK } from './features/runtimes/runtime-wishes.js';
import { TURN_WORK } from './features/turns/turn-queue.js';
import { createTurnRunner } from './features/turns/turn-runner.js';
import type { OrchestratorOptions } from './options.js';
import type { Stores } from './stores.js';
import { createWorkQueue, type WorkQueue } from './work/work-queue.js';

export interface BackgroundDeps extends Pick<
  OrchestratorOptions,
  'config' | 'bus' | 'logger' | 'environment' | 'ownsRuntimes'
> {
  stores: Stores;
  transaction: Transact;
  clock: Clock;
}

export interface Background {
  /** To be called after each commit that left an event to publish or a reply to write. */
  committed: () => void;
  wakeRuntimes: () => void;
  close: () => Promise<void>;
}

const AGENT_RUNTIME = fileURLToPath(new URL('../../agent-runtime/dist/main.js', import.meta.url));

/** What the orchestrator does besides answering requests: events, runtimes, replies. */
export async function createBackground(deps: BackgroundDeps): Promise<Background> {
  const { config, bus, logger, stores, transaction, clock, ownsRuntimes = false } = deps;
  const publish = bus.publish;
  const relay = createRelay({
    transaction,
    store: stores.events,
    render: createEventRenderer({ ...stores, clock }),
    publish,
    logger,
  });
  const client = createRuntimeClient(config.CALL_PRIVATE_KEY);
  const driver = createProcessDriver({
    store: stores.runtimeProcesses,
    program: AGENT_RUNTIME,
    environment: runtimeEnvironment({
      callPrivateKey: config.CALL_PRIVATE_KEY,
      mcpSigningKey: config.SVC_MCP_SIGNING_KEY,
      mcpEndpoint: config.SVC_MCP_ENDPOINT,
      logLevel: config.LOG_LEVEL,
      environment: deps.environment,
    }),
    logger,
    ...(config.RUNTIME_LOG_DIRECTORY === undefined ? {} : { logDirectory: config.RUNTIME_LOG_DIRECTORY }),
  });

  // Leftovers of a killed process have old code and old settings.
  if (ownsRuntimes) await driver.stopAll();

  const hurry = async (queue: WorkQueue, kind: string, workspaceId: string): Promise<void> => {
    await stores.work.hurry(kind, workspaceId);
    queue.wake();
  };
  const hurryRuntime = (workspaceId: string): Promise<void> => hurry(runtimes, RUNTIME_WORK, workspaceId);
  const runtimes: WorkQueue = createWorkQueue({
    kind: RUNTIME_WORK,
    store: stores.work,
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
      clock,
      logger,
    }),
  });
  const turns: WorkQueue = createWorkQueue({
    kind: TURN_WORK,
    store: stores.work,
    logger,
    concurrency: config.TURN_WORKERS,
    handle: createTurnRunner({
      ...stores,
      transaction,
      client,
      publish,
      committed: relay.wake,
      hurryRuntime,
      clock,
      logger,
    }),
  });
  driver.onChange((workspaceId) => {
    hurryRuntime(workspaceId).catch((error: unknown) => logger.debug({ err: error }, 'a hint was lost'));
  });

  return {
    committed() {
      relay.wake();
      turns.wake();
    },
    wakeRuntimes: runtimes.wake,
    async close() {
      await Promise.all([turns.close(), runtimes.close()]);
      // Only now: a runtime that ends while the lifecycle runs is started again.
      if (ownsRuntimes) await driver.stopAll();
      await relay.close();
      client.close();
    },
  };
}
