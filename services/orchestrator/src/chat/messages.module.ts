import type { OrchestratorConfig } from '../config.js';
import { createGroups, SENDS } from '../platform/database/groups.js';
import type { ReadFromStandby } from '../platform/database/standby-reads.js';
import type { Connections } from '../records/connections.js';
import { backfill } from '../platform/jobs/backfill.js';
import { approvalExpiry, createApprovals } from '../turns/approvals/approvals.js';
import type { AgentStatuses } from '../records/agent-statuses.js';
import type { RateLimits } from '../platform/rate-limits/rate-limits.js';
import type { RuntimeRequests } from '../records/runtime-requests.js';
import type { CancelRuntimeTurn } from '../turns/cancel-runtime-turn.js';
import type { StopService } from '../turns/stop.service.js';
import type { TurnMetrics } from '../turns/turn-metrics.js';
import type { TurnQueue } from '../turns/turn-queue.js';
import { TURN_JOB } from '../records/turn-job.js';
import type { UsageLimits } from '../metering/usage-limits.js';
import type { Attachments } from '../workspaces/uploads/attachments.js';
import type { Tasks } from '../turns/workflows/create-tasks.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import { createActionService } from './actions.service.js';
import type { CursorCodec } from '../records/cursor.js';
import { createListCursors } from '../records/list-cursor.js';
import { createMessageDeletion } from './message-deletion.js';
import { createMessageRevision } from './message-revision.js';
import type { CreateViewContext } from './message-view.js';
import { messageHandlers } from './messages.routes.js';
import { createMessageService } from './messages.service.js';
import { createOpenCardService } from './open-cards.service.js';
import { createSearchSlots, maxConcurrentSearches } from './search-slots.js';
import { createMessageSearch } from './search.service.js';
import { SEARCH_FOLD_JOB, foldMessagesAgain } from './search.store.js';
import { type SendTarget, findSendContexts } from './send-context.store.js';
import { createSendMessage } from './send-message.js';
import type { TurnSignals } from '../turns/turn-signals.js';
import { createUserMessages } from './user-messages.js';
import { createWithdraw } from './withdrawal.js';

export interface MessagesModuleDeps {
  config: Pick<OrchestratorConfig, 'SEARCH_TIMEOUT_MS' | 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS'>;
  connections: Connections;
  readFromStandby: ReadFromStandby;
  /** Connections that requests may use. */
  requestConnections: number;
  runtimes: RuntimeRequests;
  limits: UsageLimits;
  queue: TurnQueue;
  turnSignals: Pick<TurnSignals, 'send'>;
  tasks: Tasks;
  stops: StopService;
  stopInRuntime: CancelRuntimeTurn;
  statuses: AgentStatuses;
  turnMetrics: TurnMetrics;
  rates: Pick<RateLimits, 'send' | 'search'>;
  attachments: Attachments;
  access: WorkspaceAccess;
  cursors: CursorCodec;
  createViewContext: CreateViewContext;
}

/** Messages: sending, paging, search, actions, revision and deletion. */
export function createMessagesModule(deps: MessagesModuleDeps) {
  const { queue, limits, statuses, rates, attachments, access, cursors, createViewContext } = deps;
  const { database, withTransaction, withStatement, jobs, events, push, jobSignals } = deps.connections;
  const approvals = createApprovals({
    events,
    push,
    statuses,
    metrics: deps.turnMetrics,
    tasks: deps.tasks.delegations,
    runtimes: deps.runtimes,
    turnSignals: deps.turnSignals,
  });
  const findSendContext = createGroups({
    run: (targets: readonly SendTarget[]) => findSendContexts(database, targets, limits.period()),
    ...SENDS,
  });
  const messages = createUserMessages({
    withStatement,
    events,
    limits,
    runtimes: deps.runtimes,
    attachments,
    approvals,
    notifyTurns: jobSignals.notifier(TURN_JOB),
    turnSignals: deps.turnSignals,
  });
  const send = createSendMessage({
    withTransaction,
    database,
    findSendContext,
    messages,
    rates,
    limits,
    attachments,
    createViewContext,
  });
  const service = createMessageService({ database, send, access, cursors, createViewContext });
  const search = createMessageSearch({
    rates,
    slots: createSearchSlots(maxConcurrentSearches(deps.requestConnections)),
    timeoutMs: deps.config.SEARCH_TIMEOUT_MS,
    cursors,
    createViewContext,
  });
  const actions = createActionService({
    database,
    withTransaction,
    events,
    messages,
    approvals,
    push,
    statuses,
    rates,
    access,
    createViewContext,
  });
  const withdraw = createWithdraw({
    withTransaction,
    jobs,
    statuses,
    approvals,
    tasks: deps.tasks.delegations,
    workflows: deps.tasks.workflows,
    events,
    stopInRuntime: deps.stopInRuntime,
    metrics: deps.turnMetrics,
  });
  const deletion = createMessageDeletion({ database, withdraw, queue, events, access });
  const revision = createMessageRevision({
    database,
    findSendContext,
    withdraw,
    messages,
    queue,
    events,
    rates,
    attachments,
    access,
    createViewContext,
  });
  const openCards = createOpenCardService({
    database,
    cursors: createListCursors('open-cards', deps.config.CURSOR_KEY, deps.config.CURSOR_KEY_PREVIOUS),
    createViewContext,
  });
  return {
    service,
    messages,
    actions,
    routes: messageHandlers(service, search, actions, deps.stops, deletion, revision, openCards, deps.readFromStandby),
    jobs: [
      approvalExpiry(approvals, withTransaction),
      backfill({ type: SEARCH_FOLD_JOB, withTransaction, jobs, rewrite: (after, db) => foldMessagesAgain(db, after) }),
    ],
  };
}
