import type { OrchestratorConfig } from '../config.js';
import type { Connections } from '../records/connections.js';
import type { AgentStatuses } from '../records/agent-statuses.js';
import { createAgentStore } from '../records/agents.store.js';
import type { Idempotency } from '../platform/idempotency/idempotency.service.js';
import type { CreateViewContext } from './message-view.js';
import { createMessageStore } from '../records/messages.store.js';
import type { CancelRuntimeTurn } from '../turns/cancel-runtime-turn.js';
import { createTurnStore } from '../turns/turns.store.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import { createConversationCursors } from './conversation-cursor.js';
import { createConversationDeletion } from './conversation-deletion.js';
import { conversationHandlers } from './conversations.routes.js';
import { createConversationService } from './conversations.service.js';
import { createConversationStore } from './conversations.store.js';
import { createMarkRead } from './read-position.js';
import { createReadPositionStore } from './read-position.store.js';

export interface ConversationsModuleDeps {
  config: Pick<OrchestratorConfig, 'CONVERSATIONS_PER_WORKSPACE' | 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS'>;
  connections: Connections;
  access: WorkspaceAccess;
  idempotency: Idempotency;
  stopInRuntime: CancelRuntimeTurn;
  statuses: AgentStatuses;
  createViewContext: CreateViewContext;
}

export function createConversationsModule(deps: ConversationsModuleDeps) {
  const { config, access, idempotency, stopInRuntime, statuses, createViewContext } = deps;
  const { database, withTransaction, jobs, events, push } = deps.connections;
  const store = createConversationStore(database);
  const agents = createAgentStore(database);
  const service = createConversationService({
    withTransaction,
    store,
    agents,
    events,
    access,
    idempotency,
    conversationCursors: createConversationCursors(config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    perWorkspace: config.CONVERSATIONS_PER_WORKSPACE,
    createViewContext,
  });
  const deletion = createConversationDeletion({
    withTransaction,
    store,
    messages: createMessageStore(database),
    turns: createTurnStore(database),
    jobs,
    statuses,
    events,
    access,
    stopInRuntime,
  });
  const markRead = createMarkRead({
    withTransaction,
    store: createReadPositionStore(database),
    events,
    access,
    push,
  });
  return { routes: conversationHandlers(service, deletion, markRead) };
}
