import type { EventBus } from '@uswarm/event-bus';
import { type Clock, readGauge, type Registry } from '@uswarm/service-kit';
import type { Database } from '../database/database.js';
import { loadTools } from '../features/core/catalog.js';
import { createTurnMetrics, type TurnMetrics } from '../features/turns/turn-metrics.js';
import { createJobMetrics, type JobMetrics } from '../jobs/job-metrics.js';
import { JOB_TYPES } from '../jobs/job-types.js';
import { registerBacklog } from './backlog-metrics.js';
import { createBacklogStore } from './backlog.store.js';

export interface OrchestratorMetricsDeps {
  registry: Registry;
  database: Database;
  bus: Pick<EventBus, 'healthy'>;
  clock: Clock;
}

/** What no feature counts by itself, and what several of them count. */
export function createOrchestratorMetrics({ registry, database, bus, clock }: OrchestratorMetricsDeps): {
  jobMetrics: JobMetrics;
  turnMetrics: TurnMetrics;
} {
  const connected = '1 while both connections to Redis are established; 0 means degraded, not unready.';
  readGauge(registry, 'uswarm_event_bus_up', connected, () => (bus.healthy() ? 1 : 0));
  registerBacklog(registry, { store: createBacklogStore(database), kinds: JOB_TYPES });
  return {
    jobMetrics: createJobMetrics(registry, JOB_TYPES),
    turnMetrics: createTurnMetrics(registry, { tools: loadTools().map(({ name }) => name), clock }),
  };
}
