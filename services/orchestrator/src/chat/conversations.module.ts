import type { OrchestratorConfig } from '../config.js';
import type { Connections } from '../records/connections.js';
import type { AgentStatuses } from '../records/agent-statuses.js';
import type { Idempotency } from '../platform/idempotency/idempotency.service.js';
import type { CreateViewContext } from './message-view.js';
import type { CancelRuntimeTurn } from '../turns/cancel-runtime-turn.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import { createConversationCursors } from './conversation-cursor.js';
import { createConversationDeletion } from './conversation-deletion.js';
import { conversationHandlers } from './conversations.routes.js';
import { createConversationService } from './conversations.service.js';
import { createMarkRead } from './read-position.js';
import * as messageRecords from '../records/messages.store.js';
import * as readPositionRecords from './read-position.store.js';

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
  const service = createConversationService({
    withTransaction,
    database,
    events,
    access,
    idempotency,
    conversationCursors: createConversationCursors(config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
    perWorkspace: config.CONVERSATIONS_PER_WORKSPACE,
    createViewContext,
  });
  const deletion = createConversationDeletion({
    withTransaction,
    database,
    messages: messageRecords,
    jobs,
    statuses,
    events,
    access,
    stopInRuntime,
  });
  const markRead = createMarkRead({
    database,
    withTransaction,
    store: readPositionRecords,
    events,
    access,
    push,
  });
  return { service, routes: conversationHandlers(service, deletion, markRead) };
}
