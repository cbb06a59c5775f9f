import type { Database } from '../src/database/database.js';
import { createDeletedAccountStore } from '../src/features/account/deleted-accounts.store.js';
import { createAgentHistoryStore } from '../src/features/agents/agent-history.store.js';
import { createAgentSettingsStore } from '../src/features/agents/agent-settings.store.js';
import { createArtifactStore } from '../src/features/artifacts/artifacts.store.js';
import { createMemoryStore } from '../src/features/agents/memories.store.js';
import { createAgentStatusStore } from '../src/features/agents/agent-status.store.js';
import { createAgentStatuses } from '../src/features/agents/agent-statuses.js';
import { createAgentStore } from '../src/features/agents/agents.store.js';
import { createAdminStore } from '../src/features/admin/admin.store.js';
import { createRequeueStore } from '../src/features/admin/requeue.store.js';
import { type Approvals, createApprovals } from '../src/features/approvals/approvals.js';
import { createApprovalStore } from '../src/features/approvals/approvals.store.js';
import { generateCallKeys, createReceiptSigner, systemClock } from '@uswarm/service-kit';
import { createReceiptLog } from '../src/features/receipts/receipt-log.js';
import { createReceiptStore } from '../src/features/receipts/receipts.store.js';
import { createDelegations } from '../src/features/delegations/delegations.js';
import { createDelegationStore } from '../src/features/delegations/delegations.store.js';
import { createBackgroundTurns, createTaskOwners, type TaskOwner } from '../src/features/turns/background-turns.js';
import { createAuditStore } from '../src/features/admin/audit.store.js';
import { createSessionStore } from '../src/features/auth/sessions.store.js';
import { createConversationStore } from '../src/features/conversations/conversations.store.js';
import { createReadPositionStore } from '../src/features/conversations/read-position.store.js';
import { createDeviceStore } from '../src/features/devices/devices.store.js';
import { createEventStore } from '../src/features/events/events.store.js';
import { createIdempotencyStore } from '../src/features/idempotency/idempotency.store.js';
import { createExportDataStore } from '../src/features/exports/export-data.store.js';
import { createExportStore } from '../src/features/exports/exports.store.js';
import { createLegalStore } from '../src/features/legal/legal.store.js';
import { createIntegrationStore } from '../src/features/integrations/integrations.store.js';
import { createMessageChangeStore } from '../src/features/messages/message-changes.store.js';
import { createMessageStore } from '../src/features/messages/messages.store.js';
import { createMessageSearchStore } from '../src/features/messages/search.store.js';
import { NO_PUSH } from '../src/features/push/push-jobs.js';
import { createRuntimeProcessStore } from '../src/features/runtimes/drivers/process/runtime-processes.store.js';
import { createRuntimeStore } from '../src/features/runtimes/runtimes.store.js';
import { createJournalStore } from '../src/features/turns/journal/journal.store.js';
import { createTurnContextStore } from '../src/features/turns/request/turn-contexts.store.js';
import { createTurnProgressStore } from '../src/features/turns/reply/turn-progress.store.js';
import { createTurnStore } from '../src/features/turns/turns.store.js';
import { createSafeMarkdown } from '../src/features/turns/reply/reply-text.js';
import { createToolCallStore } from '../src/features/tools/tool-calls.store.js';
import { createUntrustedContentStore } from '../src/features/tools/untrusted-content.store.js';
import { createUploadStore } from '../src/features/uploads/uploads.store.js';
import { createBudgetWarning, createBudgetWarningStore } from '../src/features/usage/budget-warning.js';
import { createReservationStore } from '../src/features/usage/reservations.store.js';
import { createUsageStore } from '../src/features/usage/usage.store.js';
import { createUserStore } from '../src/features/users/users.store.js';
import type { Tasks } from '../src/features/workflows/create-tasks.js';
import { createWorkflows } from '../src/features/workflows/workflows.js';
import { createWorkflowStore } from '../src/features/workflows/workflows.store.js';
import { createWorkspaceStore } from '../src/features/workspaces/workspaces.store.js';
import { createTurnQueue } from '../src/features/turns/turn-queue.js';
import { TURN_JOB } from '../src/features/turns/turn-job.js';
import { createJobSignals, type JobSignals } from '../src/jobs/job-signals.js';
import { createJobStore } from '../src/jobs/job-store.js';

const SIGNER = createReceiptSigner(generateCallKeys().privateKey);

/**
 * Creates the stores of all features on one pool.
 * @param jobSignals wakes the workers of this process
 */
export function createStores(database: Database, jobSignals: JobSignals = createJobSignals()) {
  const events = createEventStore(database);
  const messages = createMessageStore(database);
  return {
    changes: createMessageChangeStore(),
    admin: createAdminStore(database),
    agentHistory: createAgentHistoryStore(database),
    agents: createAgentStore(database),
    agentStatuses: createAgentStatusStore(database),
    statuses: createAgentStatuses({
      store: createAgentStatusStore(database),
      publish: async () => true,
      clock: systemClock,
    }),
    artifacts: createArtifactStore(database),
    agentSettings: createAgentSettingsStore(database),
    audit: createAuditStore(database),
    conversations: createConversationStore(database),
    deletedAccounts: createDeletedAccountStore(database),
    devices: createDeviceStore(database),
    events,
    idempotency: createIdempotencyStore(database),
    exportData: createExportDataStore(database),
    exports: createExportStore(database),
    legal: createLegalStore(database),
    integrations: createIntegrationStore(database),
    memories: createMemoryStore(database),
    messages,
    messageSearch: createMessageSearchStore(database),
    readPositions: createReadPositionStore(database),
    requeue: createRequeueStore(jobSignals.notifier(TURN_JOB)),
    runtimeProcesses: createRuntimeProcessStore(database),
    runtimes: createRuntimeStore(database),
    sessions: createSessionStore(database),
    turns: createTurnStore(database),
    uploads: createUploadStore(database),
    usage: createUsageStore(database),
    users: createUserStore(database),
    journal: createJournalStore(database),
    contexts: createTurnContextStore(database),
    toolCalls: createToolCallStore(),
    progress: createTurnProgressStore(database),
    untrusted: createUntrustedContentStore(),
    markdown: createSafeMarkdown(undefined),
    approvals: createApprovalStore(),
    delegations: createDelegationStore(),
    receipts: createReceiptLog({
      store: createReceiptStore(database),
      signer: SIGNER,
      jobs: createJobStore(database, jobSignals),
    }),
    reservations: createReservationStore(),
    warnAboutBudget: createBudgetWarning({ store: createBudgetWarningStore(), events, clock: systemClock }),
    jobs: createJobStore(database, jobSignals),
    workflows: createWorkflowStore(database),
    workspaces: createWorkspaceStore(database),
  };
}

export type Stores = ReturnType<typeof createStores>;

/** Approvals with these stores. */
export function approvalsOf(stores: Stores): Approvals {
  const { approvals, reservations, messages, events, statuses } = stores;
  const metrics = { budget: () => undefined };
  const runtimes = { ensureResumed: () => Promise.resolve(false) };
  const { delegations: tasks } = tasksOfStores(stores);
  return createApprovals({
    store: approvals,
    reservations,
    messages,
    events,
    push: NO_PUSH,
    statuses,
    metrics,
    tasks,
    runtimes,
  });
}

/** The owners of tasks with these stores. They publish nothing. */
export function tasksOfStores(stores: Stores): Tasks {
  const { delegations: store, turns, jobs, reservations, toolCalls, messages, events, approvals, statuses } = stores;
  const queue = createTurnQueue(turns, jobs, { requireTokensLeft: () => Promise.resolve() });
  const background = createBackgroundTurns(turns, jobs);
  const publish = () => Promise.resolve(true);
  const markdown = createSafeMarkdown('https://api.example.com');
  const shown = { messages, events, approvals, push: NO_PUSH, statuses, markdown, publish };
  const ended: TaskOwner['ended'] = (...end) => owners.ended(...end);
  const delegations = createDelegations({ store, turns, background, queue, reservations, toolCalls, ended, ...shown });
  const runs = {
    store: stores.workflows,
    background,
    delegations,
    queue,
    turns,
    messages,
    events,
    markdown,
    clock: systemClock,
  };
  const workflows = createWorkflows(runs);
  const owners = createTaskOwners([delegations, workflows]);
  return { delegations, workflows, owners };
}

/** What a turn writer needs for background turns and notifications, with these stores. */
export const tasksOf = (stores: Stores) => ({
  push: NO_PUSH,
  tasks: tasksOfStores(stores).owners,
  queue: createTurnQueue(stores.turns, stores.jobs, { requireTokensLeft: () => Promise.resolve() }),
});
