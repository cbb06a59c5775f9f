import type { Database } from '../src/platform/database/database.js';
import { createDeletedAccountStore } from '../src/accounts/account/deleted-accounts.store.js';
import { createAgentHistoryStore } from '../src/workspaces/agents/agent-history.store.js';
import { createAgentSettingsStore } from '../src/records/agent-settings.store.js';
import { createArtifactStore } from '../src/workspaces/artifacts/artifacts.store.js';
import { createMemoryStore } from '../src/records/memories.store.js';
import { createAgentStatusStore } from '../src/records/agent-status.store.js';
import { createAgentStatuses } from '../src/records/agent-statuses.js';
import { createAgentStore } from '../src/records/agents.store.js';
import { createAdminStore } from '../src/accounts/admin/admin.store.js';
import { createRequeueStore } from '../src/accounts/admin/requeue.store.js';
import { type Approvals, createApprovals } from '../src/turns/approvals/approvals.js';
import { createApprovalStore } from '../src/records/approvals.store.js';
import { generateCallKeys, createReceiptSigner, systemClock } from '@uswarm/service-kit';
import { createReceiptLog } from '../src/turns/receipts/receipt-log.js';
import { createReceiptStore } from '../src/turns/receipts/receipts.store.js';
import { createDelegations } from '../src/turns/delegations/delegations.js';
import { createDelegationStore } from '../src/turns/delegations/delegations.store.js';
import { createBackgroundTurns, createTaskOwners, type TaskOwner } from '../src/turns/background-turns.js';
import { createAuditStore } from '../src/records/audit.store.js';
import { createSessionStore } from '../src/accounts/auth/sessions.store.js';
import { createConversationStore } from '../src/chat/conversations.store.js';
import { createReadPositionStore } from '../src/chat/read-position.store.js';
import { createDeviceStore } from '../src/accounts/devices/devices.store.js';
import { createEventStore } from '../src/records/events.store.js';
import { createIdempotencyStore } from '../src/platform/idempotency/idempotency.store.js';
import { createExportDataStore } from '../src/accounts/exports/export-data.store.js';
import { createExportStore } from '../src/accounts/exports/exports.store.js';
import { createLegalStore } from '../src/accounts/legal/legal.store.js';
import { createIntegrationStore } from '../src/records/integrations.store.js';
import { createMessageChangeStore } from '../src/records/message-changes.store.js';
import { createMessageStore } from '../src/records/messages.store.js';
import { createMessageSearchStore } from '../src/chat/search.store.js';
import { NO_PUSH } from '../src/records/push-jobs.js';
import { createRuntimeProcessStore } from '../src/runtimes/drivers/process/runtime-processes.store.js';
import { createRuntimeStore } from '../src/records/runtimes.store.js';
import { createJournalStore } from '../src/turns/journal/journal.store.js';
import { createTurnContextStore } from '../src/turns/request/turn-contexts.store.js';
import { createTurnProgressStore } from '../src/turns/reply/turn-progress.store.js';
import { createTurnStore } from '../src/turns/turns.store.js';
import { createSafeMarkdown } from '../src/turns/content/reply-text.js';
import { createToolCallStore } from '../src/turns/tools/tool-calls.store.js';
import { createUntrustedContentStore } from '../src/turns/tools/untrusted-content.store.js';
import { createUploadStore } from '../src/workspaces/uploads/uploads.store.js';
import { createBudgetWarning, createBudgetWarningStore } from '../src/metering/budget-warning.js';
import { createReservationStore } from '../src/metering/reservations.store.js';
import { createUsageStore } from '../src/metering/usage.store.js';
import { createUserStore } from '../src/records/users.store.js';
import type { Tasks } from '../src/turns/workflows/create-tasks.js';
import { createWorkflows } from '../src/turns/workflows/workflows.js';
import { createWorkflowStore } from '../src/turns/workflows/workflows.store.js';
import { createWorkspaceStore } from '../src/workspaces/workspaces.store.js';
import { createTurnQueue } from '../src/turns/turn-queue.js';
import { TURN_JOB } from '../src/records/turn-job.js';
import { createJobSignals, type JobSignals } from '../src/platform/jobs/job-signals.js';
import { createJobStore } from '../src/platform/jobs/job-store.js';

const SIGNER = createReceiptSigner(generateCallKeys().privateKey);

/** All stores use one pool. @param jobSignals wakes this process's workers */
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

/** Finds task owners with these stores. They publish nothing. */
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

/** A turn writer needs these for background turns and notifications. */
export const tasksOf = (stores: Stores) => ({
  push: NO_PUSH,
  tasks: tasksOfStores(stores).owners,
  queue: createTurnQueue(stores.turns, stores.jobs, { requireTokensLeft: () => Promise.resolve() }),
});
