import type { UsageLimits } from '../../metering/usage-limits.js';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import type { AgentActivity } from '../../platform/database/schema.js';
import type { JobQueue, LeasedJob } from '../../platform/jobs/job-queue.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import type * as approvalRecords from '../../records/approvals.store.js';
import type { EventLog } from '../../records/event-log.js';
import type { PushJobs } from '../../records/push-jobs.js';
import { nothingUnfinished } from '../../records/turn-rows.js';
import { usageLock } from '../../records/usage-lock.js';
import { type TaskOwner } from '../background-turns.js';
import { createTurnCommits, type ProgressDeps, type Write } from '../commit.js';
import { createTurnMessages, type TurnMessagesDeps } from '../content/turn-messages.js';
import type * as delegationRecords from '../delegations/delegations.store.js';
import type * as journalRecords from '../journal/journal.store.js';
import type { ToolMessage } from '../journal/turn-entries.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import type * as toolCallRecords from '../tools/tool-calls.store.js';
import type * as untrustedContentRecords from '../tools/untrusted-content.store.js';
import type { TurnMetrics } from '../turn-metrics.js';
import type { TurnQueue } from '../turn-queue.js';
import type * as turnRecords from '../turns.store.js';
import type { TurnRow } from '../turns.store.js';
import { createTurnBeginning, createUserMessageStatus } from './turn-beginning.js';
import { createTurnBudget, type TurnBudgetDeps } from './turn-budget.js';
import { createTurnEnding, createTurnLeftovers } from './turn-ending.js';
import { createSteering } from './steering.js';

export interface TurnWriterDeps extends TurnMessagesDeps, ProgressDeps {
  events: TurnMessagesDeps['events'] & Pick<EventLog, 'lock'>;
  withTransaction: WithTransaction;
  /** Like `withTransaction`, for a single statement. */
  withStatement: WithTransaction;
  jobs: Pick<JobQueue, 'holds' | 'end' | 'lockAll' | 'remove' | 'tryMakeDueNow'>;
  turns: Pick<
    typeof turnRecords,
    | 'startTurn'
    | 'setReply'
    | 'setInstance'
    | 'nextGeneration'
    | 'isStopRequested'
    | 'postponeTurn'
    | 'finishTurn'
    | 'unfinishedOf'
    | 'findRunningTools'
    | 'findOpenCards'
    | 'recordCall'
    | 'isAnsweredElsewhere'
    | 'suspendTurn'
    | 'mergeTurn'
    | 'findSteeringTurns'
    | 'endSteeringTurns'
  >;
  journal: Pick<typeof journalRecords, 'judgeEntry' | 'appendEntry' | 'isJournalEmpty'>;
  statuses: Pick<AgentStatuses, 'begun' | 'setActivity' | 'showWriting' | 'refreshAgent' | 'ended'>;
  limits: Pick<UsageLimits, 'reached' | 'reserve' | 'turnBudget'>;
  reservations: TurnBudgetDeps['reservations'];
  warnAboutBudget: TurnBudgetDeps['warnAboutBudget'];
  toolCalls: Pick<typeof toolCallRecords, 'findToolCall' | 'insertToolCall'>;
  approvals: Pick<
    typeof approvalRecords,
    | 'approvalExpiryAt'
    | 'insertApproval'
    | 'findApproval'
    | 'areApprovalsOpen'
    | 'supersedeApprovalsOf'
    | 'closeQuestions'
    | 'takeAnswer'
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

interface KnownOfReply {
  /** True while this process has run the whole turn and written nothing that can be unfinished at its end. */
  isPlain: boolean;
  isEmpty: () => boolean;
  shownSeq: number | undefined;
}

export type Writing = ReturnType<typeof createWriting>;

/** Shared by all writes of one turn. */
export function createWriting(deps: TurnWriterDeps, turn: TurnRow, job: LeasedJob) {
  const { turns, events, statuses, metrics } = deps;
  const known: KnownOfReply = {
    isPlain: turn.status === 'queued' && turn.resumes_message_id === null,
    isEmpty: () => false,
    shownSeq: undefined,
  };
  const taken = (): void => void (turn.reply_message_id = null);
  const shownMessages = createTurnMessages(deps, turn, { isEmpty: () => known.isEmpty(), taken });
  const leftovers = createTurnLeftovers(deps, turn);
  const budget = createTurnBudget(deps, turn);
  const setUserMessage = createUserMessageStatus(events, turn);
  const beginning = createTurnBeginning(deps, turn, setUserMessage);
  const endReply = createTurnEnding(
    deps,
    turn,
    leftovers,
    async (tx) => (known.isPlain ? nothingUnfinished(turn.reply_message_id) : turns.unfinishedOf(tx, turn.id)),
    beginning.addReply,
  );
  /** Undefined without a reply. */
  const replySeq = (): number | undefined => (turn.reply_message_id === null ? undefined : known.shownSeq);

  const { commit, ...commits } = createTurnCommits({ ...deps, usageLock: usageLock(turn.user_id) }, job);

  const showing =
    (activity: AgentActivity) =>
    (tx: Transaction): Promise<unknown> =>
      activity === 'writing' ? statuses.showWriting(turn, job, tx) : statuses.setActivity(turn, activity, tx);

  const withActivity = (activity: AgentActivity | undefined) =>
    activity === undefined ? {} : { activity: showing(activity) };

  /** Like `commit`, for writes that can leave something unfinished. */
  const leaving = <T>(write: Write<T>): Promise<T> => {
    known.isPlain = false;
    return commit(write);
  };

  function toolEnded({ content: { tool, state } }: ToolMessage): void {
    if (state !== 'running') metrics?.toolEnded(tool, state);
  }

  return {
    deps,
    turn,
    job,
    known,
    shownMessages,
    leftovers,
    budget,
    beginning,
    endReply,
    setUserMessage,
    steer: createSteering(deps, turn),
    commit,
    commits,
    replySeq,
    showing,
    withActivity,
    leaving,
    toolEnded,
  };
}
