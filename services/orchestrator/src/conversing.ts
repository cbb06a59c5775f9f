import type { EventBus } from '@uswarm/event-bus';
import type { Clock } from '@uswarm/service-kit';
import type { Background } from './background.js';
import type { OrchestratorConfig } from './config.js';
import type { BoundedRead } from './database/bounded-read.js';
import type { WithTransaction } from './database/database.js';
import type { ConversationCursorCodec } from './features/conversations/conversation-cursor.js';
import { createConversationDeletion } from './features/conversations/conversation-deletion.js';
import { conversationHandlers } from './features/conversations/conversations.routes.js';
import { createConversationService } from './features/conversations/conversations.service.js';
import { createMarkRead } from './features/conversations/read-position.js';
import { createEventRenderer } from './features/events/event-payloads.js';
import { createEventService } from './features/events/events.service.js';
import type { Idempotency } from './features/idempotency/idempotency.service.js';
import { createActionService } from './features/messages/actions.service.js';
import type { CursorCodec } from './features/messages/cursor.js';
import type { Show } from './features/messages/message-view.js';
import { createMessageDeletion } from './features/messages/message-deletion.js';
import { createMessageRevision } from './features/messages/message-revision.js';
import { messageHandlers } from './features/messages/messages.routes.js';
import { createMessageService, type MessageService } from './features/messages/messages.service.js';
import { createMessageSearch } from './features/messages/search.service.js';
import { createSearchSlots, searchesAtOnce } from './features/messages/search-slots.js';
import { createMessageIntake } from './features/messages/message-intake.js';
import { createWithdraw } from './features/messages/withdrawal.js';
import type { RateLimits } from './features/rate-limits/rate-limits.js';
import type { RuntimeRequests } from './features/runtimes/runtime-requests.js';
import { createLiveEvents, type LiveEventsContext } from './features/turns/live-events.js';
import { createStopService } from './features/turns/stop.service.js';
import type { TurnMetrics } from './features/turns/turn-metrics.js';
import { createTurnQueue } from './features/turns/turn-queue.js';
import type { Attachments } from './features/uploads/attachments.js';
import type { UsageLimits } from './features/usage/usage-limits.js';
import type { Provision } from './features/workspaces/provision.js';
import type { WorkspaceAccess } from './features/workspaces/workspace-access.js';
import { createWorkspaceChanges } from './features/workspaces/workspace-changes.js';
import { workspaceHandlers } from './features/workspaces/workspaces.routes.js';
import { createWorkspaceService, type WorkspaceService } from './features/workspaces/workspaces.service.js';
import type { Stores } from './stores.js';

export interface ConversingDeps {
  config: Pick<OrchestratorConfig, 'WORKSPACES_PER_USER' | 'CONVERSATIONS_PER_WORKSPACE' | 'SEARCH_TIMEOUT_MS'>;
  bus: Pick<EventBus, 'publish'>;
  stores: Stores;
  withTransaction: WithTransaction;
  boundedRead: BoundedRead;
  /** Connections that requests may use. */
  requestConnections: number;
  background: Background;
  runtimes: RuntimeRequests;
  provision: Provision;
  limits: UsageLimits;
  rates: Pick<RateLimits, 'send' | 'search'>;
  attachments: Attachments;
  metrics: TurnMetrics;
  access: WorkspaceAccess;
  cursors: CursorCodec;
  conversationCursors: ConversationCursorCodec;
  idempotency: Idempotency;
  show: Show;
  clock: Clock;
}

/** Workspaces, and everything that is said in them. */
export interface Conversing {
  handlers: ReturnType<typeof workspaceHandlers> &
    ReturnType<typeof conversationHandlers> &
    ReturnType<typeof messageHandlers>;
  workspaces: WorkspaceService;
  messages: MessageService;
}

export function createConversing({ stores, background, ...deps }: ConversingDeps): Conversing {
  const { stopInRuntime } = background;
  const live = (place: LiveEventsContext) => createLiveEvents(deps.bus.publish, place);
  const shared = { ...stores, ...deps, stopInRuntime, live };
  const workspaces = createWorkspaceService({ store: stores.workspaces, clock: deps.clock });
  const queue = createTurnQueue(stores.turns, stores.jobs, deps.limits);
  const questions = createMessageIntake({
    ...shared,
    store: stores.messages,
    turns: queue,
  });
  const messages = createMessageService({ ...shared, store: stores.messages, questions });
  const withdraw = createWithdraw(shared);
  return {
    workspaces,
    messages,
    handlers: {
      ...workspaceHandlers(
        workspaces,
        createWorkspaceChanges({ ...shared, store: stores.workspaces, perUser: deps.config.WORKSPACES_PER_USER }),
        createEventService({ ...shared, store: stores.events, render: createEventRenderer(shared) }),
      ),
      ...conversationHandlers(
        createConversationService({
          ...shared,
          store: stores.conversations,
          perWorkspace: deps.config.CONVERSATIONS_PER_WORKSPACE,
        }),
        createConversationDeletion({ ...shared, store: stores.conversations }),
        createMarkRead({ ...shared, store: stores.readPositions }),
      ),
      ...messageHandlers(
        messages,
        createMessageSearch({
          ...shared,
          store: stores.messageSearch,
          read: deps.boundedRead,
          slots: createSearchSlots(searchesAtOnce(deps.requestConnections)),
          timeoutMs: deps.config.SEARCH_TIMEOUT_MS,
        }),
        createActionService({ ...shared, store: stores.messages, questions }),
        createStopService(shared),
        createMessageDeletion({ ...shared, store: stores.messages, withdraw }),
        createMessageRevision({ ...shared, store: stores.messages, withdraw, questions, queue }),
      ),
    },
  };
}
