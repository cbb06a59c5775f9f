import type { UntrustedSource } from '../tools/untrusted-content.js';
import type { AgentActivity } from '../../platform/database/schema.js';
import type { FoundApproval } from '../../records/approvals.store.js';
import type { QuestionAnswer } from '../../records/question.js';
import type { NewReceipt, SentReceipt } from '../receipts/receipts.store.js';
import type { Commit, StartTask, ToolOutcome } from '../tools/platform-tool.js';
import type { NotSent } from '../tools/send-call.js';
import type { StoredOutcome } from '../tools/tool-calls.store.js';
import type { Attempt } from '../../metering/reservations.store.js';
import type { UsageEntry } from '../../records/usage-rows.js';
import type { LimitReached } from '../../metering/usage-limits.js';
import type { OfferedContent } from '../content/agent-content-schema.js';
import type { AskedCall, Reserved, UsageOf } from './turn-budget.js';
import type { EntryVerdict, StoredEntry } from '../journal/journal.store.js';
import type { Ended, FinishedReply } from './turn-ending.js';
import type { AppendedEntry, EntryParts, ToolMessage } from '../journal/turn-entries.js';
import type { Progress, ReplyTexts } from '../reply/turn-progress.store.js';
import type { TurnInstance } from '../turns.store.js';

/** Executed by the orchestrator. */
export interface RequestedCall {
  id: string;
  tool: string;
  /** One line for the user. */
  description: string;
  /** True if stopping the turn prevents the call. */
  stoppable: boolean;
  /** Kind of content from others that the call returns. */
  reads?: UntrustedSource | undefined;
}

export interface StoredCall {
  /** Absent while the call has no outcome. */
  outcome?: StoredOutcome | undefined;
  /** Absent unless the call was sent to another system. */
  sent?: SentReceipt | undefined;
  /** Absent unless the user was asked. */
  approval?: FoundApproval | undefined;
  /** True if another agent works on the call's task. */
  isDelegated: boolean;
}

export interface Begun {
  /** Empty if a card or a task has taken the reply's place. */
  replyId: string;
  seq: number;
  activity: AgentActivity;
  /** True if a new turn must end: its user was banned. Other turns find out before they call the runtime. */
  stopRequested: boolean;
}

export interface SavedProgress {
  progress: Progress;
  /** Undefined if they did not change since they were saved. */
  texts: ReplyTexts | undefined;
  /** Counts changes to the texts. */
  version: number;
}

export interface ProgressSource {
  /**
   * @param completes true if the current event's effects are complete
   * @returns undefined if no event is applied
   */
  current(completes: boolean): SavedProgress | undefined;
  /** Called after this version of the texts was saved. */
  saved(version: number): void;
  /** True if the reply shows no text: a card or a delegation can then take its place. */
  isEmpty(): boolean;
}

export interface TurnStart {
  instance: TurnInstance;
  /** Kinds of content from others that the runtime receives or can get. */
  untrusted: readonly UntrustedSource[];
}

/** Each call is one transaction that commits only while the lease is held. */
export interface TurnWriter {
  /**
   * Marks the user message as delivered and the agent as reading, and stores a loading reply.
   *
   * @param start as for `setInstance`, if a new turn's runtime is known
   * @returns id and seq of the reply
   * @throws TokensReserved
   * @throws TokensUsed
   */
  begin(start?: TurnStart): Promise<Begun>;
  /** Has no effect if the turn has a reply. */
  showReply(): Promise<{ replyId: string; seq: number }>;
  /** Waits for the next write. */
  markRead(): void;
  /** An activity counts for two minutes unless it is stored again. */
  activity(activity: AgentActivity): Promise<void>;
  /**
   * Stores which runtime has the turn, and the turn's context unless it has one.
   *
   * @returns true if the turn must end: a stop was requested, or the user was banned
   */
  setInstance(start: TurnStart): Promise<boolean>;
  /** Restarts the turn after the runtime lost it. @returns undefined if `limit` generations made no progress */
  nextGeneration(limit: number): Promise<number | undefined>;
  /** Begins the next generation after the delay. */
  postpone(waitMs: number): Promise<void>;
  /** Decides if an entry can be appended to the journal. @throws LeaseLost if the turn has a later generation */
  judge(generation: number, entry: { number: number; size: number }): Promise<EntryVerdict>;
  /**
   * Appends a journal entry, in one transaction with what it produces and with a changed activity.
   *
   * @throws LeaseLost as `judge`
   */
  entry(generation: number, entry: StoredEntry & EntryParts, activity?: AgentActivity): Promise<AppendedEntry>;
  /**
   * Like `entry`, with the next write: another event follows, and both are one transaction.
   *
   * @param appended called after the commit
   */
  entryLater(
    generation: number,
    entry: StoredEntry & EntryParts,
    appended: (entry: AppendedEntry) => void,
    activity?: AgentActivity,
  ): void;
  /** Writes what waits for the next write. Call it before events are acknowledged. */
  flush(): Promise<void>;
  /** Sets the progress that is stored with each complete event. */
  track(source: ProgressSource): void;
  saveProgress(): Promise<void>;
  /**
   * @param reads kind of content from others that the call returns
   * @returns the sequence of its event; undefined without one
   */
  tool(tool: ToolMessage, reads?: UntrustedSource): Promise<number | undefined>;
  /**
   * Executes a tool call once per turn: with `commit`, in the transaction that stores and shows the outcome.
   *
   * @returns the outcome, and the sequence of its event unless the call was executed before
   */
  call(call: RequestedCall, commit: Commit): Promise<{ outcome: StoredOutcome; seq?: number | undefined }>;
  findCall(callId: string): Promise<StoredCall>;
  /** Stores that an approved call of the tool server is made. Has no effect if it is stored. */
  grant(call: Pick<RequestedCall, 'id' | 'tool'>): Promise<void>;
  /** Starts a call's task, unless the turn was stopped. @returns the sequence of its event, or why it is not started */
  startTask(start: StartTask): Promise<number | ToolOutcome>;
  /** Ends the reply with this text: another agent answers the message. */
  handOver(text: string, agentId: string): Promise<Ended>;
  /** Stores and shows that a call is about to be sent to another system. @returns why it must not be sent, if so */
  markSent(receipt: NewReceipt, description: string): Promise<NotSent | undefined>;
  /** Shows the card for a call that has none. @returns the sequence of its event */
  ask(call: AskedCall): Promise<number>;
  /**
   * Shows a question of a running call's server.
   *
   * @param isFirst withdraws the questions that another process has asked for this call
   * @returns the card's message; undefined if the turn is being stopped
   */
  question(call: AskedCall, isFirst: boolean): Promise<string | undefined>;
  /** Reads the answer once. @returns undefined while the question is open; null if it was closed without an answer */
  answer(cardMessageId: string): Promise<QuestionAnswer | null | undefined>;
  /**
   * Ends the turn until the user decides on calls, and until other agents finish their tasks.
   *
   * @returns undefined if a call has neither an open card nor an unfinished task
   */
  suspend(text: string, callIds: readonly string[]): Promise<Ended | undefined>;
  /** Stores content as a separate message, or updates the message with this key. @returns the sequence of its event */
  offer(key: string, content: OfferedContent): Promise<number>;
  /**
   * Counts a model call's estimate before it is sent. Has no effect on a call that was reserved before.
   *
   * @param metered true if the model gateway reserves it
   * @returns the token limit that is reached; `budget_reached` if only a budget that limits the turn is spent; `busy`
   * if other turns' running calls may give tokens back when they end
   */
  reserve(attempt: Attempt, metered: boolean, activity?: AgentActivity): Promise<Reserved>;
  /** Ends the turn until the user grants it more tokens. */
  askForTokens(text: string): Promise<Ended>;
  /**
   * Records a model call's usage once, with the next write.
   *
   * @param recorded called after the commit, with the token limit if it is now reached
   */
  usage(entry: UsageEntry, call: UsageOf, recorded: (reached: LimitReached | undefined) => void): void;
  /** Has no effect for a known key. */
  note(key: string, text: string): Promise<void>;
  /** Shows that a limit is reached, once per conversation and month. */
  noteLimit(limit: LimitReached): Promise<void>;
  /** Ends the turn and its job. @returns the sequence of its last event */
  finish(reply: FinishedReply): Promise<Ended>;
  /**
   * Ends a turn that has not begun: a queued turn answers its message, too.
   *
   * @returns false if that turn is not queued any more
   */
  merge(intoTurnId: string): Promise<boolean>;
  /** Fails a turn: the user message fails, and the reply states the reason. */
  abandon(errorCode: string, sentence: string, turnStatus?: 'failed' | 'stopped'): Promise<Ended>;
}
