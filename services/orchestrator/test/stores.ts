import { generateCallKeys, createReceiptSigner, systemClock } from '@uswarm/service-kit';
import * as reservationRecords from '../src/metering/reservations.store.js';
import { createBudgetWarning } from '../src/metering/budget-warning.js';
import type { Database } from '../src/platform/database/database.js';
import { createJobSignals, type JobSignals } from '../src/platform/jobs/job-signals.js';
import { createJobQueue } from '../src/platform/jobs/job-queue.js';
import { createAgentStatuses } from '../src/records/agent-statuses.js';
import * as approvalRecords from '../src/records/approvals.store.js';
import { createEventLog } from '../src/records/event-log.js';
import * as messageRecords from '../src/records/messages.store.js';
import { NO_PUSH } from '../src/records/push-jobs.js';
import { type Approvals, createApprovals } from '../src/turns/approvals/approvals.js';
import { createBackgroundTurns, createTaskOwners, type TaskOwner } from '../src/turns/background-turns.js';
import { createSafeMarkdown } from '../src/turns/content/reply-text.js';
import { createDelegations } from '../src/turns/delegations/delegations.js';
import * as delegationRecords from '../src/turns/delegations/delegations.store.js';
import * as journalRecords from '../src/turns/journal/journal.store.js';
import { createReceiptLog } from '../src/turns/receipts/receipt-log.js';
import { createTurnProgress } from '../src/turns/reply/turn-progress.store.js';
import * as turnContextRecords from '../src/turns/request/turn-contexts.store.js';
import * as toolCallRecords from '../src/turns/tools/tool-calls.store.js';
import * as untrustedContentRecords from '../src/turns/tools/untrusted-content.store.js';
import { createTurnQueue } from '../src/turns/turn-queue.js';
import * as turnRecords from '../src/turns/turns.store.js';
import type { Tasks } from '../src/turns/workflows/create-tasks.js';
import { createWorkflows } from '../src/turns/workflows/workflows.js';
import * as workflowRecords from '../src/turns/workflows/workflows.store.js';

const SIGNER = createReceiptSigner(generateCallKeys().privateKey);

/** Everything that a turn writer needs, on one pool. @param jobSignals wakes this process's workers */
export function createStores(database: Database, jobSignals: JobSignals = createJobSignals()) {
  const events = createEventLog(database);
  const jobs = createJobQueue(database, jobSignals);
  return {
    database,
    jobs,
    events,
    statuses: createAgentStatuses({ publish: async () => true, clock: systemClock }),
    messages: messageRecords,
    turns: turnRecords,
    journal: journalRecords,
    contexts: turnContextRecords,
    toolCalls: toolCallRecords,
    progress: createTurnProgress(database),
    untrusted: untrustedContentRecords,
    markdown: createSafeMarkdown(undefined),
    approvals: approvalRecords,
    delegations: delegationRecords,
    receipts: createReceiptLog({ database, signer: SIGNER, jobs }),
    reservations: reservationRecords,
    warnAboutBudget: createBudgetWarning({
      events,
      hasSystemMessage: messageRecords.hasSystemMessage,
      clock: systemClock,
    }),
  };
}

export type Stores = ReturnType<typeof createStores>;

export function approvalsOf(stores: Stores): Approvals {
  const { events, statuses } = stores;
  const metrics = { budget: () => undefined };
  const runtimes = { ensureResumed: () => Promise.resolve(false) };
  const { delegations: tasks } = tasksOfStores(stores);
  return createApprovals({
    events,
    push: NO_PUSH,
    statuses,
    metrics,
    tasks,
    runtimes,
    turnSignals: { send: () => undefined },
  });
}

/** Finds task owners with these stores. They publish nothing. */
export function tasksOfStores(stores: Stores): Tasks {
  const { jobs, events, statuses } = stores;
  const queue = createTurnQueue(jobs, { requireTokensLeft: () => Promise.resolve() });
  const background = createBackgroundTurns(jobs);
  const publish = () => Promise.resolve(true);
  const markdown = createSafeMarkdown('https://api.example.com');
  const shown = { events, push: NO_PUSH, statuses, markdown, publish };
  const ended: TaskOwner['ended'] = (...end) => owners.ended(...end);
  const delegations = createDelegations({ background, queue, ended, ...shown });
  const runs = {
    store: workflowRecords,
    background,
    delegations,
    queue,
    database: stores.database,
    turns: turnRecords,
    messages: messageRecords,
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
  queue: createTurnQueue(stores.jobs, { requireTokensLeft: () => Promise.resolve() }),
});
