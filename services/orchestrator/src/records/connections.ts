import type { Logger } from '@uswarm/service-kit';
import { type CommittedEvent, createEventLog, type EventLog } from './event-log.js';
import { createPushJobs, NO_PUSH, type PushJobs } from './push-jobs.js';
import { createJobQueue, type JobQueue } from '../platform/jobs/job-queue.js';
import type { JobSignals } from '../platform/jobs/job-signals.js';
import type { Database, WithTransaction } from '../platform/database/database.js';
import { createWithStatement, createWithTransaction } from '../platform/database/transaction.js';

/** A pool with the stores whose writes signal workers. Requests and background work have separate pools. */
export interface Connections {
  database: Database;
  withTransaction: WithTransaction;
  /** Like `withTransaction`, for a single statement. */
  withStatement: WithTransaction;
  jobs: JobQueue;
  events: EventLog;
  push: PushJobs;
  jobSignals: JobSignals;
}

export interface ConnectionsDeps {
  jobSignals: JobSignals;
  /** Called after the commit. */
  onCommitted: (event: CommittedEvent) => void;
  /** Delay before a message is announced to devices; undefined without a push service. */
  pushDelayMs: number | undefined;
  logger: Logger;
}

export function createConnections(
  database: Database,
  { jobSignals, onCommitted, pushDelayMs, logger }: ConnectionsDeps,
): Connections {
  const jobs = createJobQueue(database, jobSignals);
  return {
    database,
    withTransaction: createWithTransaction(database, logger),
    withStatement: createWithStatement(database, logger),
    jobs,
    events: createEventLog(database, onCommitted),
    push: pushDelayMs === undefined ? NO_PUSH : createPushJobs(jobs, pushDelayMs),
    jobSignals,
  };
}
