import type { OrchestratorConfig } from '../../config.js';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import { backfill } from '../../platform/jobs/backfill.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { Assets } from '../../platform/core/assets.js';
import { loadTools } from '../../platform/core/catalog.js';
import type { ModelCatalog } from '../../platform/core/models.js';
import type { CursorCodec } from '../../records/cursor.js';
import type { CreateViewContext } from '../../chat/message-view.js';
import type { WorkspaceAccess } from '../workspace-access.js';
import { createAgentAccess } from './agent-access.js';
import { createAgentSettingsService } from './agent-settings.service.js';
import { agentHandlers, agentSettingsHandlers, memoryHandlers } from './agents.routes.js';
import { createAgentService } from './agents.service.js';
import { agentStatusExpiry } from './agent-status-expiry.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import { createShownModel } from './default-model.js';
import { createMemoryService } from './memories.service.js';
import { MEMORY_FOLD_JOB, foldMemoriesAgain } from '../../records/memories.store.js';
import { createMemoryTools } from './memory-tools.js';
import { createListCursors } from '../../records/list-cursor.js';

export interface AgentsModuleDeps {
  config: OrchestratorConfig;
  environment: Record<string, string | undefined>;
  models: Pick<ModelCatalog, 'subAgentModel'>;
  database: Database;
  /** For tool calls. */
  background: Database;
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'enqueue'>;
  access: WorkspaceAccess;
  cursors: CursorCodec;
  assets: Pick<Assets, 'url'>;
  createViewContext: CreateViewContext;
  statuses: AgentStatuses;
}

export function createAgentsModule(deps: AgentsModuleDeps) {
  const { config, environment, models, database, withTransaction, access, cursors, assets, createViewContext } = deps;
  const agentAccess = createAgentAccess(database);
  const agents = createAgentService({
    database,
    workspaces: access,
    access: agentAccess,
    cursors,
    memoryLimit: config.MEMORIES_PER_AGENT,
    createViewContext,
  });
  const settings = createAgentSettingsService({
    database,
    tools: loadTools(config, assets.url),
    shownModel: createShownModel(models, config, environment),
  });
  const memoryLimits = { perAgent: config.MEMORIES_PER_AGENT, contentBytes: config.MEMORY_BYTES };
  const memories = createMemoryService({
    withTransaction,
    database,
    access: agentAccess,
    workspaces: access,
    cursors: createListCursors('memories', config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    limits: memoryLimits,
  });
  return {
    routes: { ...agentHandlers(agents), ...agentSettingsHandlers(settings), ...memoryHandlers(memories) },
    jobs: [
      agentStatusExpiry({ withTransaction, database, statuses: deps.statuses }),
      backfill({
        type: MEMORY_FOLD_JOB,
        withTransaction,
        jobs: deps.jobs,
        rewrite: (after, db) => foldMemoriesAgain(db, after),
      }),
    ],
    tools: createMemoryTools({ database: deps.background, limits: memoryLimits }),
  };
}
