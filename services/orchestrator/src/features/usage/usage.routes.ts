import type { Handler } from '../../http/handlers.js';
import type { UsageService } from './usage.service.js';

export function usageHandlers(service: UsageService) {
  const getUsageSummary: Handler<'getUsageSummary'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.ofUser(actor.userId) },
  });
  const getWorkspaceUsage: Handler<'getWorkspaceUsage'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.ofWorkspace(actor.userId, params.id) },
  });
  return { getUsageSummary, getWorkspaceUsage };
}
