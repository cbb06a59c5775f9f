import type { Clock, SigningKey } from '@uswarm/service-kit';
import type { Connections } from '../../records/connections.js';
import type { ModelCatalog, ModelPrice } from '../../platform/core/models.js';
import type { TurnMetrics } from '../turn-metrics.js';
import type { UsageLimits } from '../../metering/usage-limits.js';
import { createBudgetWarningOn } from '../../metering/usage.module.js';
import { createModelCallRouter } from './model-calls.routes.js';
import { createModelCallService } from './model-calls.service.js';

export interface ModelCallsModuleDeps {
  keys: readonly SigningKey[];
  connections: Pick<Connections, 'database' | 'withTransaction' | 'events'>;
  limits: UsageLimits;
  models: ModelCatalog;
  transcriptionPrice: ModelPrice;
  metrics: TurnMetrics;
  clock: Clock;
}

export function createModelCallsModule(deps: ModelCallsModuleDeps) {
  const { keys, limits, models, transcriptionPrice, metrics, clock } = deps;
  const { database, withTransaction } = deps.connections;
  const service = createModelCallService({
    withTransaction,
    database,
    limits,
    models,
    transcriptionPrice,
    warnAboutBudget: createBudgetWarningOn(deps.connections, clock),
    metrics,
  });
  return { router: createModelCallRouter({ keys, service }) };
}
