import { ApiError, LIMITS, type Workflow, type WorkflowPage } from '@uswarm/contract';
import { fitting, jsonBytes } from '../../platform/http/bounded-list.js';
import type { ListCursorCodec } from '../../records/list-cursor.js';
import type { WorkspaceAccess } from '../../workspaces/workspace-access.js';
import type { WorkflowCancellation } from './workflow-cancellation.js';
import { summaryView, workflowView } from './workflow-view.js';
import type { WorkflowRow } from './workflows.store.js';
import type * as workflowRecords from './workflows.store.js';
import type { Database } from '../../platform/database/database.js';

export interface WorkflowServiceDeps {
  database: Database;
  store: Pick<typeof workflowRecords, 'listWorkflows' | 'findWorkflow' | 'findWorkflowSteps' | 'findStepSummaries'>;
  cancellation: Pick<WorkflowCancellation, 'cancel'>;
  access: WorkspaceAccess;
  cursors: ListCursorCodec;
}

export interface WorkflowQuery {
  scrollId?: string | undefined;
  limit?: number | undefined;
}

/** All methods throw ApiError `workspace_not_found`, and the errors noted. */
export interface WorkflowService {
  /** Newest first, bounded by the response size. @throws ApiError `cursor_invalid` */
  list(userId: string, workspaceId: string, query: WorkflowQuery): Promise<WorkflowPage>;
  /** @throws ApiError `workflow_not_found` */
  get(userId: string, workspaceId: string, id: string): Promise<Workflow>;
  /** @throws ApiError `workflow_not_found`, `workflow_not_running` */
  cancel(userId: string, workspaceId: string, id: string): Promise<void>;
}

export function createWorkflowService({
  database,
  store,
  cancellation,
  access,
  cursors,
}: WorkflowServiceDeps): WorkflowService {
  async function require(userId: string, workspaceId: string, id: string): Promise<WorkflowRow> {
    await access.require(userId, workspaceId);
    const row = await store.findWorkflow(database, id);
    if (row?.workspace_id !== workspaceId) throw new ApiError('workflow_not_found');
    return row;
  }

  return {
    async list(userId, workspaceId, { scrollId, limit = LIMITS.pageDefault }) {
      await access.require(userId, workspaceId);
      const scope = [userId, workspaceId];
      const after = scrollId === undefined ? undefined : cursors.decode(scrollId, scope);
      const rows = await store.listWorkflows(database, workspaceId, limit + 1, after);
      const steps = await store.findStepSummaries(
        database,
        rows.map(({ id }) => id),
      );
      const views = rows.map((row) => {
        const view = summaryView(
          row,
          steps.filter(({ workflow_id: id }) => id === row.id),
        );
        return { view, position: row.position };
      });
      const page = fitting(views.slice(0, limit), ({ view }) => jsonBytes(view));
      const last = page.at(-1);
      const next = last === undefined || page.length === rows.length ? null : cursors.encode(last.position, scope);
      return {
        data: page.map(({ view }) => view),
        pagination: { next_scroll_id: next, prev_scroll_id: null, has_next: next !== null, has_prev: false },
      };
    },

    async get(userId, workspaceId, id) {
      const row = await require(userId, workspaceId, id);
      return workflowView(row, await store.findWorkflowSteps(database, [id]));
    },

    async cancel(userId, workspaceId, id) {
      await require(userId, workspaceId, id);
      if (!(await cancellation.cancel(workspaceId, id))) throw new ApiError('workflow_not_running');
    },
  };
}
