import type { Transaction, WithTransaction, Database } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import type { EventLog } from '../../records/event-log.js';
import type { PushJobs } from '../../records/push-jobs.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import type { UsageLimits } from '../../metering/usage-limits.js';
import type { TaskOwner } from '../background-turns.js';
import type { TurnMetrics } from '../turn-metrics.js';
import type { TurnQueue } from '../turn-queue.js';
import type { TrackedProgressDeps } from './tracked-progress.js';
import type { TurnBudgetDeps } from './turn-budget.js';
import type { TurnMessagesDeps } from '../content/turn-messages.js';
import type * as turnRecords from '../turns.store.js';
import type * as journalRecords from '../journal/journal.store.js';
import type * as toolCallRecords from '../tools/tool-calls.store.js';
import type * as approvalRecords from '../../records/approvals.store.js';
import type * as delegationRecords from '../delegations/delegations.store.js';
import type * as untrustedContentRecords from '../tools/untrusted-content.store.js';

export interface TurnWriterDeps extends TurnMessagesDeps, TrackedProgressDeps {
  events: TurnMessagesDeps['events'] & Pick<EventLog, 'lock'>;
  withTransaction: WithTransaction;
  /** Like `withTransaction`, for a single statement. */
  withStatement: WithTransaction;
  jobs: Pick<JobQueue, 'holds' | 'end'>;
  turns: Pick<
    typeof turnRecords,
    | 'startTurn'
    | 'setInstance'
    | 'nextGeneration'
    | 'postponeTurn'
    | 'isAnsweredElsewhere'
    | 'finishTurn'
    | 'setReply'
    | 'unfinishedOf'
    | 'suspendTurn'
    | 'isStopRequested'
    | 'findOpenCards'
    | 'findRunningTools'
    | 'recordCall'
  >;
  journal: Pick<typeof journalRecords, 'judgeEntry' | 'appendEntry' | 'isJournalEmpty'>;
  statuses: Pick<AgentStatuses, 'begun' | 'setActivity' | 'showWriting' | 'refreshAgent' | 'ended'>;
  limits: Pick<UsageLimits, 'reached' | 'reserve' | 'turnBudget'>;
  reservations: TurnBudgetDeps['reservations'];
  warnAboutBudget: TurnBudgetDeps['warnAboutBudget'];
  toolCalls: Pick<typeof toolCallRecords, 'findToolCall' | 'insertToolCall'>;
  approvals: Pick<
    typeof approvalRecords,
    'approvalExpiryAt' | 'insertApproval' | 'findApproval' | 'areApprovalsOpen' | 'supersedeApprovalsOf'
  >;
  receipts: Pick<ReceiptLog, 'find' | 'count' | 'insert' | 'finish' | 'leave'>;
  delegations: Pick<typeof delegationRecords, 'isDelegationOpen' | 'findOpenDelegations'>;
  tasks: TaskOwner;
  queue: Pick<TurnQueue, 'follow'>;
  database: Database;
  untrusted: Pick<typeof untrustedContentRecords, 'addUntrustedSources' | 'recordReadTexts' | 'recordWrittenTexts'>;
  push: PushJobs;
  /** Runs in the transaction that ends an answered turn, before it takes further locks. */
  followUp?: (tx: Transaction) => Promise<void>;
  metrics?: TurnMetrics;
}
