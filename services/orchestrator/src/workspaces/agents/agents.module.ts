import type { OrchestratorConfig } from '../../config.js';
import { backfill } from '../../platform/jobs/backfill.js';
import type { Idempotency } from '../../platform/idempotency/idempotency.service.js';
import type { Assets } from '../../platform/core/assets.js';
import { loadTools } from '../../platform/core/catalog.js';
import type { ModelCatalog } from '../../platform/core/models.js';
import type { CursorCodec } from '../../records/cursor.js';
import type { CreateViewContext } from '../../chat/message-view.js';
import type { WorkspaceAccess } from '../workspace-access.js';
import type { Connections } from '../../records/connections.js';
import { createAgentAccess } from './agent-access.js';
import { createAgentChanges } from './agent-changes.js';
import { createAgentSettingsService } from './agent-settings.service.js';
import { agentHandlers, agentSettingsHandlers, memoryHandlers, ownAgentHandlers } from './agents.routes.js';
import { createAgentService } from './agents.service.js';
import { agentStatusExpiry } from './agent-status-expiry.js';
import type { ServerTools } from '../../turns/tools/platform-tool.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import { createShownModel } from './default-model.js';
import { createMemoryService } from './memories.service.js';
import { MEMORY_FOLD_JOB, foldMemoriesAgain } from '../../records/memories.store.js';
import { createOwnAgentTools } from './own-agent-tools.js';
import { createOwnAgentService } from './own-agents.service.js';
import { createMemoryTools } from './memory-tools.js';
import { createListCursors } from '../../records/list-cursor.js';

export interface AgentsModuleDeps {
  config: OrchestratorConfig;
  environment: Record<string, string | undefined>;
  models: Pick<ModelCatalog, 'subAgentModel'>;
  requests: Connections;
  /** For tool calls. */
  background: Connections;
  idempotency: Pick<Idempotency, 'once'>;
  access: WorkspaceAccess;
  cursors: CursorCodec;
  assets: Pick<Assets, 'url'>;
  createViewContext: CreateViewContext;
  statuses: AgentStatuses;
  serverTools: ServerTools;
}

export function createAgentsModule(deps: AgentsModuleDeps) {
  const { config, environment, models, requests, background, access, cursors, assets, createViewContext } = deps;
  const { database, withTransaction } = requests;
  const agentAccess = createAgentAccess(database);
  const agents = createAgentService({
    database,
    workspaces: access,
    access: agentAccess,
    cursors,
    memoryLimit: config.MEMORIES_PER_AGENT,
    createViewContext,
  });
  const tools = loadTools(config, assets.url);
  const ownAgents = createOwnAgentService({
    withTransaction,
    database,
    workspaces: access,
    idempotency: deps.idempotency,
    tools,
    changes: createAgentChanges(requests),
    agents,
  });
  const settings = createAgentSettingsService({
    database,
    tools,
    serverTools: deps.serverTools,
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
    service: agents,
    routes: {
      ...agentHandlers(agents),
      ...ownAgentHandlers(ownAgents),
      ...agentSettingsHandlers(settings),
      ...memoryHandlers(memories),
    },
    jobs: [
      agentStatusExpiry({ withTransaction, database, statuses: deps.statuses }),
      backfill({
        type: MEMORY_FOLD_JOB,
        withTransaction,
        jobs: requests.jobs,
        rewrite: (after, db) => foldMemoriesAgain(db, after),
      }),
    ],
    tools: [
      ...createMemoryTools({ database: background.database, limits: memoryLimits }),
      ...createOwnAgentTools({ database: background.database, changes: createAgentChanges(background), tools }),
    ],
  };
}
