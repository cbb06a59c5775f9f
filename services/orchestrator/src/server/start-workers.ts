import type { Logger, Registry } from '@uswarm/service-kit';
import type { Connections } from '../records/connections.js';
import { registerBacklog } from './backlog-metrics.js';
import type { JobDefinition, UrgentJobDefinition } from '../platform/jobs/job-definition.js';
import { createJobMetrics } from '../platform/jobs/job-metrics.js';
import type { LeaseKeeper } from '../platform/jobs/lease-keeper.js';
import { createMaintenanceWorkers } from '../platform/jobs/maintenance-workers.js';
import { startUrgentWorkers } from '../platform/jobs/urgent-workers.js';
import type { JobSignals } from '../platform/jobs/job-signals.js';
import * as backlogRecords from './backlog.store.js';

export interface WorkersDeps {
  urgent: readonly UrgentJobDefinition[];
  maintenance: readonly JobDefinition[];
  requests: Connections;
  background: Connections;
  leases: LeaseKeeper;
  /** An urgent job's lease lasts this many ms unless it is extended. */
  leaseMs: number;
  maintenanceWorkers: number;
  jobSignals: JobSignals;
  metrics: Registry;
  logger: Logger;
}

/** Also enqueues the jobs that every start needs. */
export async function startWorkers(deps: WorkersDeps) {
  const { urgent, maintenance, requests, background, leases, logger } = deps;
  const kinds = [...urgent, ...maintenance].map(({ type }) => type);
  registerBacklog(deps.metrics, { database: requests.database, store: backlogRecords, kinds });
  const metrics = createJobMetrics(deps.metrics, kinds);
  for (const { atStart } of maintenance) {
    if (atStart !== undefined) await requests.withTransaction((tx) => requests.jobs.enqueue(atStart, tx));
  }
  return {
    urgent: startUrgentWorkers({
      jobs: urgent,
      store: background.jobs,
      leases,
      leaseMs: deps.leaseMs,
      jobSignals: deps.jobSignals,
      metrics,
      logger,
    }),
    maintenance: createMaintenanceWorkers({
      jobs: maintenance,
      store: requests.jobs,
      leases,
      workers: deps.maintenanceWorkers,
      metrics,
      logger,
    }),
  };
}
