import type { Transaction, WithTransaction } from '../../platform/database/database.js';
import type { JobStore } from '../../platform/jobs/job-store.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import type { ApprovalStore } from '../../records/approvals.store.js';
import type { DelegationStore } from '../delegations/delegations.store.js';
import type { EventStore } from '../../records/events.store.js';
import type { PushJobs } from '../../records/push-jobs.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import type { ToolCallStore } from '../tools/tool-calls.store.js';
import type { UntrustedContentStore } from '../tools/untrusted-content.store.js';
import type { UsageLimits } from '../../metering/usage-limits.js';
import type { TaskOwner } from '../background-turns.js';
import type { JournalStore } from '../journal/journal.store.js';
import type { TurnMetrics } from '../turn-metrics.js';
import type { TurnQueue } from '../turn-queue.js';
import type { TurnStore } from '../turns.store.js';
import type { ProgressDeps } from '../commit.js';
import type { TurnBudgetDeps } from './turn-budget.js';
import type { TurnMessagesDeps } from '../content/turn-messages.js';

export interface TurnWriterDeps extends TurnMessagesDeps, ProgressDeps {
  events: TurnMessagesDeps['events'] & Pick<EventStore, 'lock'>;
  withTransaction: WithTransaction;
  /** Like `withTransaction`, for a single statement. */
  withStatement: WithTransaction;
  jobs: Pick<JobStore, 'holds' | 'end'>;
  turns: Pick<
    TurnStore,
    | 'start'
    | 'setReply'
    | 'setInstance'
    | 'nextGeneration'
    | 'stopRequested'
    | 'postpone'
    | 'finish'
    | 'unfinished'
    | 'runningTools'
    | 'openCards'
    | 'recordUsage'
    | 'answeredElsewhere'
    | 'suspend'
  >;
  journal: Pick<JournalStore, 'judge' | 'append' | 'isEmpty'>;
  statuses: Pick<AgentStatuses, 'begun' | 'setActivity' | 'showWriting' | 'refreshAgent' | 'ended'>;
  limits: Pick<UsageLimits, 'reached' | 'reserve' | 'turnBudget'>;
  reservations: TurnBudgetDeps['reservations'];
  warnAboutBudget: TurnBudgetDeps['warnAboutBudget'];
  toolCalls: ToolCallStore;
  approvals: Pick<ApprovalStore, 'find' | 'expiry' | 'insert' | 'allOpen' | 'supersedeOf'>;
  receipts: Pick<ReceiptLog, 'find' | 'count' | 'insert' | 'finish' | 'leave'>;
  delegations: Pick<DelegationStore, 'isOpen' | 'openOf'>;
  tasks: TaskOwner;
  queue: Pick<TurnQueue, 'follow'>;
  untrusted: Pick<UntrustedContentStore, 'add' | 'read' | 'wrote'>;
  push: PushJobs;
  /** Runs in the transaction that ends an answered turn, before it takes further locks. */
  followUp?: (tx: Transaction) => Promise<void>;
  metrics?: TurnMetrics;
}
