import type { Handler } from '../platform/http/handlers.js';
import type { BudgetService } from './budget.service.js';
import type { UsageReportService } from './usage-report.service.js';
import type { UsageService } from './usage.service.js';

export function usageHandlers(service: UsageService, reports: UsageReportService, budgets: BudgetService) {
  const getUsageSummary: Handler<'getUsageSummary'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.ofUser(actor.userId) },
  });
  const getWorkspaceUsage: Handler<'getWorkspaceUsage'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.ofWorkspace(actor.userId, params.id) },
  });
  const getUsageReport: Handler<'getUsageReport'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await reports.report(actor.userId, params.id, query),
  });
  const getWorkspaceBudget: Handler<'getWorkspaceBudget'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await budgets.get(actor.userId, params.id) },
  });
  const updateWorkspaceBudget: Handler<'updateWorkspaceBudget'> = async ({ actor, params, body }) => ({
    status: 200,
    body: { data: await budgets.update(actor.userId, params.id, body) },
  });
  return { getUsageSummary, getWorkspaceUsage, getUsageReport, getWorkspaceBudget, updateWorkspaceBudget };
}
