import type { Clock } from '@uswarm/service-kit';
import type { Database } from '../../database/database.js';
import type { Plans } from '../plans/plans.js';
import { createUsageLimits } from './usage-limits.js';
import { usageHandlers } from './usage.routes.js';
import { createUsageService } from './usage.service.js';
import { createUsageStore } from './usage.store.js';

export interface UsageModuleDeps {
  database: Database;
  plans: Plans;
  clock: Clock;
}

/** Token usage, and the limits of plans. */
export function createUsageModule({ database, plans, clock }: UsageModuleDeps) {
  const store = createUsageStore(database);
  return {
    limits: createUsageLimits({ store, plans, clock }),
    routes: usageHandlers(createUsageService({ store, plans, clock })),
  };
}
