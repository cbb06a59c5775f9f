import { type Registry, silentLogger, systemClock } from '@uswarm/service-kit';
import type { WithTransaction } from '../src/platform/database/database.js';
import type { RuntimeObservation } from '../src/runtimes/drivers/driver.js';
import { createRuntimeMetrics } from '../src/runtimes/runtime-metrics.js';
import { createRuntimePool } from '../src/runtimes/runtime-pool.js';
import { createRuntimeReconciler } from '../src/runtimes/runtime-reconciler.js';
import type { Stores } from './stores.js';
import * as runtimeRecords from '../src/records/runtimes.store.js';
import * as agentRecords from '../src/records/agents.store.js';

export const IDLE_RUNTIME: RuntimeObservation = {
  phase: 'Ready',
  reason: '',
  address: 'http://runtime:1',
  current: true,
};

/** On its platform, all runtimes are ready and have been idle for an hour. */
export const createIdleReconciler = (stores: Stores, withTransaction: WithTransaction, metrics: Registry) =>
  createRuntimeReconciler({
    ...stores,
    withTransaction,
    database: stores.database,
    store: runtimeRecords,
    agents: agentRecords,
    driver: {
      ensure: async ({ suspended }) =>
        suspended ? { ...IDLE_RUNTIME, phase: 'Suspended', address: null } : IDLE_RUNTIME,
      peek: async () => new Map(),
      reportsLiveness: true,
      remove: async () => true,
      onChange: () => undefined,
    },
    client: {
      identify: async () => ({ instanceId: 'i', features: [] }),
      status: async () => ({ busy: false, turns: [], idleMs: 3_600_000 }),
      stopTurn: async () => undefined,
      forget: () => undefined,
    },
    pool: createRuntimePool({ places: 0, requestReconcile: () => undefined }),
    publish: async () => true,
    idleSuspendAfterMs: 1_000,
    metrics: createRuntimeMetrics(metrics),
    clock: systemClock,
    logger: silentLogger,
  });
