import type { Client } from '@uswarm/client';

/** Usage in the newest turns of a workspace, and its limits. */
export async function loadSpending({ api }: Client, workspaceId: string, signal: AbortSignal) {
  const path = { id: workspaceId };
  const [report, plan] = await Promise.all([
    api.get('/v1/workspaces/{id}/usage/report', { path, query: { group_by: 'turn', limit: 100 }, signal }),
    api.get('/v1/workspaces/{id}/usage', { path, signal }),
  ]);
  return { ...report.data, plan: plan.data };
}
