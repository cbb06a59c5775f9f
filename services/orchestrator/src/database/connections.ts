import type { Logger } from '@uswarm/service-kit';
import { createEventStore, type EventStore } from '../features/events/events.store.js';
import { createJobStore, type JobStore } from '../jobs/job-store.js';
import { OUTBOX_TOPIC, type WakeUps } from '../jobs/wake-ups.js';
import type { Database, WithTransaction } from './database.js';
import { createWithTransaction } from './transaction.js';

/** A pool with the stores whose writes wake workers. Requests and background work have separate pools. */
export interface Connections {
  database: Database;
  withTransaction: WithTransaction;
  jobs: JobStore;
  events: EventStore;
}

export function createConnections(database: Database, wakeUps: WakeUps, logger: Logger): Connections {
  return {
    database,
    withTransaction: createWithTransaction(database, logger),
    jobs: createJobStore(database, wakeUps),
    events: createEventStore(database, wakeUps.notifier(OUTBOX_TOPIC)),
  };
}
