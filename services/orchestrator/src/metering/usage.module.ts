import type { Clock } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../config.js';
import type { Connections } from '../records/connections.js';
import type { Database } from '../platform/database/database.js';
import { createListCursors } from '../records/list-cursor.js';
import type { Plans } from './plans.js';
import { createBudgetWarning, type WarnAboutBudget } from './budget-warning.js';
import { createBudgetService } from './budget.service.js';
import { createUsageLimits } from './usage-limits.js';
import { hasSystemMessage } from '../records/messages.store.js';
import { createUsageReportService } from './usage-report.service.js';
import { usageHandlers } from './usage.routes.js';
import { createUsageService } from './usage.service.js';

export interface UsageModuleDeps {
  config: Pick<OrchestratorConfig, 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS'>;
  database: Database;
  plans: Plans;
  clock: Clock;
}

/** @param connections used by the transactions that record usage */
export const createBudgetWarningOn = ({ events }: Pick<Connections, 'events'>, clock: Clock): WarnAboutBudget =>
  createBudgetWarning({ events, hasSystemMessage, clock });

export function createUsageModule({ config, database, plans, clock }: UsageModuleDeps) {
  const budgets = createBudgetService({ database, clock });
  const reports = createUsageReportService({
    database,
    budgets,
    cursors: createListCursors('usage', config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    clock,
  });
  return {
    limits: createUsageLimits({ database, plans, clock }),
    routes: usageHandlers(createUsageService({ database, plans, clock }), reports, budgets),
  };
}
