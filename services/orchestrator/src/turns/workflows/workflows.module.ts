import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import { createListCursors } from '../../records/list-cursor.js';
import type { WorkspaceAccess } from '../../workspaces/workspace-access.js';
import type { WorkflowCancellation } from './workflow-cancellation.js';
import { workflowHandlers } from './workflows.routes.js';
import { createWorkflowService } from './workflows.service.js';
import * as workflowRecords from './workflows.store.js';

export interface WorkflowsModuleDeps {
  config: Pick<OrchestratorConfig, 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS'>;
  requests: Pick<Connections, 'database'>;
  cancellation: WorkflowCancellation;
  access: WorkspaceAccess;
}

export function createWorkflowsModule({ config, requests, cancellation, access }: WorkflowsModuleDeps) {
  const service = createWorkflowService({
    database: requests.database,
    store: workflowRecords,
    cancellation,
    access,
    cursors: createListCursors('workflows', config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
  });
  return { routes: workflowHandlers(service) };
}
