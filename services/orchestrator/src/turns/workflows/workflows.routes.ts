import type { Handler } from '../../platform/http/handlers.js';
import type { WorkflowService } from './workflows.service.js';

export function workflowHandlers(service: WorkflowService) {
  const listWorkflows: Handler<'listWorkflows'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await service.list(actor.userId, params.workspaceId, query),
  });
  const getWorkflow: Handler<'getWorkflow'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, params.workspaceId, params.id) },
  });
  const cancelWorkflow: Handler<'cancelWorkflow'> = async ({ actor, params }) => {
    await service.cancel(actor.userId, params.workspaceId, params.id);
    return { status: 204 };
  };
  return { listWorkflows, getWorkflow, cancelWorkflow };
}
