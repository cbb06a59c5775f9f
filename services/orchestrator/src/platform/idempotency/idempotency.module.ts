import { LIMITS } from '@uswarm/contract';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { Database } from '../database/database.js';
import type { JobDefinition } from '../jobs/job-definition.js';
import { createPruning, pruningRow } from '../jobs/pruning.js';
import { createIdempotency, IDEMPOTENCY_PRUNING_JOB } from './idempotency.service.js';
import { pruneUsedKeys } from './idempotency.store.js';

export interface IdempotencyModuleDeps {
  database: Database;
  clock: Clock;
  logger: Logger;
}

const HOUR_MS = 3_600_000;

export function createIdempotencyModule({ database, clock, logger }: IdempotencyModuleDeps) {
  const pruning: JobDefinition = {
    type: IDEMPOTENCY_PRUNING_JOB,
    handle: createPruning({
      prune: (before, limit) => pruneUsedKeys(database, before, limit),
      keepMs: LIMITS.idempotencyKeptHours * HOUR_MS,
      removed: 'old idempotency keys were removed',
      clock,
      logger,
    }),
    atStart: pruningRow(IDEMPOTENCY_PRUNING_JOB),
  };
  return { service: createIdempotency(database), jobs: [pruning] };
}
