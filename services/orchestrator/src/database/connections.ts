import type { Logger } from '@uswarm/service-kit';
import { type CommittedEvent, createEventStore, type EventStore } from '../features/events/events.store.js';
import { createJobStore, type JobStore } from '../jobs/job-store.js';
import type { JobSignals } from '../jobs/job-signals.js';
import type { Database, WithTransaction } from './database.js';
import { createWithStatement, createWithTransaction } from './transaction.js';

/** A pool with the stores whose writes signal workers. Requests and background work have separate pools. */
export interface Connections {
  database: Database;
  withTransaction: WithTransaction;
  /** As `withTransaction`, for a single statement. */
  withStatement: WithTransaction;
  jobs: JobStore;
  events: EventStore;
  /** Reports a committed event to the relay of this process. `events.append` does it by itself. */
  onCommitted: (event: CommittedEvent) => void;
  jobSignals: JobSignals;
}

/** @param onCommitted receives each event after the commit of its transaction */
export function createConnections(
  database: Database,
  jobSignals: JobSignals,
  onCommitted: (event: CommittedEvent) => void,
  logger: Logger,
): Connections {
  return {
    database,
    withTransaction: createWithTransaction(database, logger),
    withStatement: createWithStatement(database, logger),
    jobs: createJobStore(database, jobSignals),
    events: createEventStore(database, onCommitted),
    onCommitted,
    jobSignals,
  };
}
