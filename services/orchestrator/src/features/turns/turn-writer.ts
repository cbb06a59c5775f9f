import { randomUUIDv7 } from 'node:crypto';
import { type DurableEventName, messageError } from '@uswarm/contract';
import type { Transaction, WithTransaction } from '../../database/database.js';
import type { AgentActivity } from '../../database/schema.js';
import type { LeasedJob, JobStore } from '../../jobs/job-store.js';
import type { AgentStatuses } from '../agents/agent-statuses.js';
import type { ApprovalStore, FoundApproval } from '../approvals/approvals.store.js';
import type { DelegationStore } from '../delegations/delegations.store.js';
import type { Commit, StartTask, ToolOutcome } from '../tools/platform-tool.js';
import { NOT_SENT, type NotSent } from '../tools/send-call.js';
import type { EventStore } from '../events/events.store.js';
import type { PushJobs } from '../push/push-jobs.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import type { NewReceipt, SentReceipt } from '../receipts/receipts.store.js';
import { recordTexts, storedMemory } from '../tools/record-texts.js';
import type { StoredOutcome, ToolCallStore } from '../tools/tool-calls.store.js';
import type { UntrustedContentStore } from '../tools/untrusted-content.store.js';
import type { UntrustedSource } from '../tools/untrusted-content.js';
import type { Attempt } from '../usage/reservations.store.js';
import type { UsageEntry } from '../usage/usage-entries.js';
import type { LimitReached, UsageLimits } from '../usage/usage-limits.js';
import { type OfferedContent, storable } from './agent-content-schema.js';
import { type AskedCall, showApproval } from './approval-cards.js';
import { isBackground, type TaskOwner } from './background-turns.js';
import type { EntryVerdict, JournalStore, StoredEntry } from './journal.store.js';
import type { TurnContext, TurnContextStore } from './turn-contexts.store.js';
import { createTurnBudget, type Reserved, type TurnBudgetDeps, type UsageOf } from './turn-budget.js';
import { type AppendedEntry, appendEntry, type EntryParts, type ToolMessage } from './turn-entries.js';
import { answeredReply, createTurnEnding, type Ended, type FinishedReply } from './turn-ending.js';
import { createTurnLeftovers } from './turn-leftovers.js';
import { callKey, createTurnMessages, runtimeKey, type TurnMessagesDeps, unknownLine } from './turn-messages.js';
import type { TurnMetrics } from './turn-metrics.js';
import type { TurnQueue } from './turn-queue.js';
import type { TurnRow, TurnStore } from './turns.store.js';
import { createUserMessageStatus } from './user-message-status.js';

/** Another replica holds the lease of the turn. Nothing may be written. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

/** Running turns have reserved the remaining tokens, so this turn must wait. */
export class TokensReserved extends Error {
  override name = 'TokensReserved';
}

/** The user decided on a call, or deleted its card, or a task ended, before the turn was suspended. */
class Decided extends Error {
  override name = 'Decided';
}

/** Calls to other systems of one turn. A runtime that is not trusted could send more than a user expects. */
const MAX_SENT_CALLS = 20;

export interface TurnWriterDeps extends TurnMessagesDeps {
  events: TurnMessagesDeps['events'] & Pick<EventStore, 'lock'>;
  withTransaction: WithTransaction;
  jobs: Pick<JobStore, 'holds' | 'complete'>;
  turns: Pick<
    TurnStore,
    | 'start'
    | 'setInstance'
    | 'nextGeneration'
    | 'stopRequested'
    | 'postpone'
    | 'finish'
    | 'runningTools'
    | 'openCards'
    | 'recordUsage'
    | 'answeredElsewhere'
    | 'suspend'
  >;
  journal: Pick<JournalStore, 'judge' | 'append' | 'isEmpty'>;
  statuses: Pick<AgentStatuses, 'setActivity' | 'refreshAgent'>;
  limits: Pick<UsageLimits, 'reached' | 'reserve' | 'turnBudget'>;
  reservations: TurnBudgetDeps['reservations'];
  warnAboutBudget: TurnBudgetDeps['warnAboutBudget'];
  contexts: Pick<TurnContextStore, 'insert'>;
  toolCalls: ToolCallStore;
  approvals: Pick<ApprovalStore, 'find' | 'insert' | 'allOpen' | 'supersedeOf'>;
  receipts: Pick<ReceiptLog, 'find' | 'count' | 'insert' | 'finish' | 'finishTurn'>;
  delegations: Pick<DelegationStore, 'isOpen' | 'openOf'>;
  /** Tasks of background turns. */
  tasks: TaskOwner;
  queue: Pick<TurnQueue, 'follow'>;
  untrusted: Pick<UntrustedContentStore, 'add' | 'read' | 'wrote'>;
  push: PushJobs;
  /** Runs in the transaction that ends an answered turn, before it takes further locks. */
  followUp?: (tx: Transaction) => Promise<void>;
  metrics?: TurnMetrics;
}

/** A call of a tool that the orchestrator executes. */
export interface RequestedCall {
  id: string;
  tool: string;
  /** One line that describes the call to the user. */
  description: string;
  /** Whether a stop of the turn prevents the call. */
  stoppable: boolean;
  /** The kind of content of others that the call returns. */
  reads?: UntrustedSource | undefined;
}

/** What is stored about a call. */
export interface StoredCall {
  /** Absent while the call has no outcome. */
  outcome?: StoredOutcome | undefined;
  /** Absent unless the call was sent to another system. */
  sent?: SentReceipt | undefined;
  /** Absent unless the user was asked. */
  approval?: FoundApproval | undefined;
  /** Whether another agent works on the task of the call. */
  isDelegated: boolean;
}

/** Everything a turn stores. Each call is one transaction that commits only while the lease is held. */
export interface TurnWriter {
  /**
   * Marks the user message as delivered and the agent as reading, and stores a loading reply.
   *
   * @returns id and seq of the reply
   * @throws TokensReserved
   */
  begin(): Promise<{ replyId: string; seq: number }>;
  markRead(): Promise<void>;
  /** Stores what the turn does. It counts for two minutes unless it is stored again. */
  activity(activity: AgentActivity): Promise<void>;
  /**
   * Stores which runtime has the turn, and the context of the turn unless it has one.
   *
   * @param budgeted see TurnStore
   * @param untrusted the kinds of content of others that the runtime receives or can get
   */
  setInstance(
    instanceId: string,
    budgeted: boolean,
    context?: TurnContext,
    untrusted?: readonly UntrustedSource[],
  ): Promise<void>;
  /** Restarts the turn after the runtime lost it. @returns undefined if `limit` generations made no progress */
  nextGeneration(limit: number): Promise<number | undefined>;
  /** Lets the turn continue after a wait in milliseconds, with its next generation. */
  postpone(waitMs: number): Promise<void>;
  /** Whether an entry can be appended to the journal. @throws LeaseLost if the turn has a later generation */
  judge(generation: number, entry: { number: number; size: number }): Promise<EntryVerdict>;
  /** Appends an entry to the journal, in one transaction with what it produces and with a changed activity. @throws LeaseLost as `judge` */
  entry(generation: number, entry: StoredEntry & EntryParts, activity?: AgentActivity): Promise<AppendedEntry>;
  /** @param reads the kind of content of others that the call returns. @returns the sequence of its event */
  tool(tool: ToolMessage, reads?: UntrustedSource): Promise<number>;
  /**
   * Executes a call of a tool once per turn: with `commit`, in the transaction that stores and shows the outcome.
   *
   * @returns the outcome, and the sequence of its event unless the call was executed before
   */
  call(call: RequestedCall, commit: Commit): Promise<{ outcome: StoredOutcome; seq?: number }>;
  findCall(callId: string): Promise<StoredCall>;
  /** Starts the task of a call, unless the turn was stopped. @returns the sequence of its event, or why it is not started */
  startTask(start: StartTask): Promise<number | ToolOutcome>;
  /** Ends the reply with this text: another agent answers the message. */
  handOver(text: string, agentId: string): Promise<Ended>;
  /** Stores and shows that a call is about to be sent to another system. @returns why it must not be sent, if so */
  markSent(receipt: NewReceipt, description: string): Promise<NotSent | undefined>;
  /** Shows the card of a call that has none. @returns the sequence of its event */
  ask(call: AskedCall): Promise<number>;
  /**
   * Ends the turn until the user decides on calls, and until other agents finish their tasks.
   *
   * @returns undefined if one of the calls has neither an open card nor an unfinished task
   */
  suspend(text: string, callIds: readonly string[]): Promise<Ended | undefined>;
  /** Stores content as a separate message, or updates the message with this key. @returns the sequence of its event */
  offer(key: string, content: OfferedContent): Promise<number>;
  /**
   * Counts the estimate of a model call before it is sent. Has no effect on a call that was reserved before.
   *
   * @param metered whether the model gateway reserves it
   * @returns the token limit that is reached; `budget_reached` if only the budget of the turn is spent
   */
  reserve(attempt: Attempt, metered: boolean, activity?: AgentActivity): Promise<Reserved>;
  /** Ends the turn until the user grants it more tokens. */
  askForTokens(text: string): Promise<Ended>;
  /**
   * Records the usage of a model call once.
   *
   * @param call default: `unannounced`
   * @returns the token limit if it is now reached
   */
  usage(entry: UsageEntry, call?: UsageOf): Promise<LimitReached | undefined>;
  /** Stores a system message once per key. */
  note(key: string, text: string): Promise<void>;
  /** Ends the turn and its job. @returns the sequence of `message.done` */
  finish(reply: FinishedReply): Promise<Ended>;
  /** Fails a turn: the user message fails, and the reply states the reason. */
  abandon(errorCode: string, sentence: string, turnStatus?: 'failed' | 'stopped'): Promise<Ended>;
}

export function createTurnWriter(deps: TurnWriterDeps, turn: TurnRow, job: LeasedJob): TurnWriter {
  const { withTransaction, turns, messages, events, statuses, metrics } = deps;
  const workspaceId = turn.workspace_id;
  const shownMessages = createTurnMessages(deps, turn);
  const leftovers = createTurnLeftovers(deps, turn);
  const budget = createTurnBudget(deps, turn);
  const endReply = createTurnEnding(deps, turn, job, leftovers);
  const setUserMessage = createUserMessageStatus(deps, turn);
  let replySeq: number | undefined;

  async function fenced<T>(run: (tx: Transaction) => Promise<T>): Promise<T> {
    return withTransaction(async (tx) => {
      if (!(await deps.jobs.holds(job, tx))) throw new LeaseLost();
      return run(tx);
    });
  }

  /** Stores a changed activity in the same transaction. */
  const fencedWith = <T>(activity: AgentActivity | undefined, run: (tx: Transaction) => Promise<T>): Promise<T> =>
    fenced(async (tx) => {
      if (activity !== undefined) await statuses.setActivity(turn, activity, tx);
      return run(tx);
    });

  const append = (type: DurableEventName, subjectId: string, tx: Transaction): Promise<number> =>
    events.append({ workspaceId, type, subjectId }, tx);

  async function insertReply(tx: Transaction, tokens: number | null = null): Promise<{ replyId: string; seq: number }> {
    const id = randomUUIDv7();
    const seq = await append('message.new', id, tx);
    const context = { workspaceId, conversationId: turn.conversation_id, agentId: turn.agent_id };
    await messages.insert({ id, ...context, seq, role: 'agent', content: { type: 'loading' }, status: 'pending' }, tx);
    await turns.start(turn.id, id, tokens, tx);
    turn.reply_message_id = id;
    replySeq = seq;
    return { replyId: id, seq };
  }

  function toolEnded({ content: { tool, state } }: ToolMessage): void {
    if (state !== 'running') metrics?.toolEnded(tool, state);
  }

  /** Stores a loading reply unless the turn has one. @returns id and seq of the reply */
  async function beginReply(tokens: number | null, tx: Transaction): Promise<{ replyId: string; seq: number }> {
    if (turn.reply_message_id !== null) {
      const [reply] = await messages.find([turn.reply_message_id], tx);
      const seq = reply?.seq ?? 0;
      if (!isBackground(turn)) replySeq = seq;
      else if (turn.status === 'queued') await turns.start(turn.id, turn.reply_message_id, tokens, tx);
      return { replyId: turn.reply_message_id, seq };
    }
    await setUserMessage('delivered', tx);
    return insertReply(tx, tokens);
  }

  return {
    async begin() {
      const isFirst = turn.reply_message_id === null;
      const begun = await fenced(async (tx) => {
        const allowed = turn.status === 'queued' ? await deps.limits.reserve(workspaceId, tx) : { tokens: null };
        if (allowed === undefined) throw new TokensReserved();
        const reply = await beginReply(allowed.tokens, tx);
        await statuses.setActivity(turn, 'reading', tx);
        return reply;
      });
      if (isFirst) metrics?.begun(turn);
      return begun;
    },

    activity: (activity) => fencedWith(activity, () => Promise.resolve()),

    markRead: async () => {
      if (!isBackground(turn)) await fenced((tx) => setUserMessage('read', tx));
    },

    setInstance: (instanceId, budgeted, context, untrusted = []) =>
      fenced(async (tx) => {
        await turns.setInstance(turn.id, instanceId, budgeted, tx);
        await deps.untrusted.add(turn, untrusted, tx);
        if (context !== undefined) await deps.contexts.insert(turn.id, context, tx);
        await recordTexts(deps.untrusted, turn, { read: context?.agentContext.memories.map(storedMemory) }, tx);
      }),

    nextGeneration: (limit) =>
      fenced(async (tx) => {
        const generation = await turns.nextGeneration(turn.id, limit, tx);
        await leftovers.failLostTools(tx);
        // With a journal, cards stay: their calls are not repeated, or update the same card.
        if (await deps.journal.isEmpty(turn.id, tx)) await leftovers.withdrawCards(tx);
        return generation;
      }),

    async postpone(waitMs) {
      await fenced(async (tx) => {
        await turns.postpone(turn.id, waitMs, tx);
        await statuses.setActivity(turn, null, tx);
      });
      metrics?.postponed();
    },

    async judge(generation, entry) {
      const verdict = await fenced((tx) => deps.journal.judge({ turnId: turn.id, generation, ...entry }, tx));
      if (verdict === 'stale') throw new LeaseLost();
      return verdict;
    },

    async entry(generation, entry, activity) {
      const place = { id: turn.id, workspaceId, generation, replySeq };
      const appended = await fencedWith(activity, (tx) =>
        appendEntry({ ...deps, budget }, shownMessages, place, entry, tx),
      );
      if (appended.verdict === 'stale') throw new LeaseLost();
      if (appended.counted !== undefined && entry.usage !== undefined)
        metrics?.used({ ...entry.usage, ...appended.counted });
      if (appended.verdict === 'new' && entry.tool !== undefined) toolEnded(entry.tool);
      return appended;
    },

    async tool(tool, reads) {
      const shown = await fenced(async (tx) => {
        if (reads !== undefined) await deps.untrusted.add(turn, [reads], tx);
        return shownMessages.tool(runtimeKey(tool.callId), tool.content, replySeq, tx);
      });
      toolEnded(tool);
      return shown;
    },

    async call({ id, tool, description, stoppable, reads }, commit) {
      const called = await fenced(async (tx) => {
        const stored = await deps.toolCalls.find(turn.id, id, tx);
        if (stored !== undefined) return { outcome: stored, state: undefined };
        const isStopped = stoppable && (await turns.stopRequested(turn.id, tx));
        const ended: ToolOutcome = isStopped ? NOT_SENT.stopped : await commit(tx);
        const { text, failed, isUnknown, message, showsMessage = message !== undefined, ...texts } = ended;
        await recordTexts(deps.untrusted, turn, { reads, ...texts }, tx);
        // Texts of other systems, such as mails, can contain anything.
        const outcome = { text: storable(text), failed, showsMessage };
        await deps.toolCalls.insert(turn.id, { id, tool }, outcome, tx);
        const line = { type: 'tool_status', tool, description, state: failed ? 'failed' : 'completed' } as const;
        const shown = isUnknown === true ? unknownLine(line) : line;
        const seq = await shownMessages.tool(callKey(id), shown, replySeq, tx);
        return {
          outcome,
          state: isUnknown === true ? ('unknown' as const) : line.state,
          seq: message === undefined ? seq : await shownMessages.offer(`platform:${message.key}`, message.content, tx),
        };
      });
      if (called.state !== undefined) metrics?.toolEnded(tool, called.state);
      return called;
    },

    findCall: (callId) =>
      fenced(async (tx) => ({
        outcome: await deps.toolCalls.find(turn.id, callId, tx),
        sent: await deps.receipts.find(turn.id, callId, tx),
        approval: await deps.approvals.find(turn.id, callId, tx),
        isDelegated: await deps.delegations.isOpen(turn.id, callId, tx),
      })),

    startTask: (start) =>
      fenced(async (tx) => ((await turns.stopRequested(turn.id, tx)) ? NOT_SENT.stopped : await start(tx))),

    async handOver(text, agentId) {
      const reply = { turnStatus: 'done', messageStatus: 'delegated', text, errorCode: null } as const;
      const userMessageId = turn.resumes_message_id ?? turn.user_message_id;
      const { conversation_id: conversationId, user_id: userId } = turn;
      const ended = await fenced(async (tx) => {
        const handedOver = await endReply(reply, tx);
        const [userMessage] = await messages.find([userMessageId], tx);
        const ordinal = userMessage?.seq ?? handedOver.seq;
        await deps.queue.follow({ workspaceId, conversationId, agentId, userMessageId, userId, ordinal }, tx);
        return handedOver;
      });
      metrics?.ended(turn, reply);
      return ended;
    },

    markSent: (receipt, description) =>
      fenced(async (tx) => {
        // A stop locks the job as well, so no call is sent after it.
        if (await turns.stopRequested(turn.id, tx)) return 'stopped';
        if ((await deps.receipts.count(turn.id, tx)) >= MAX_SENT_CALLS) return 'too many calls';
        await deps.receipts.insert(receipt, tx);
        // If the turn ends without an outcome, the line tells the user about the call.
        const line = { type: 'tool_status', tool: receipt.tool, description, state: 'running' } as const;
        await shownMessages.tool(callKey(receipt.call.id), line, replySeq, tx);
        return undefined;
      }),

    ask: (call) => fenced((tx) => showApproval(deps, shownMessages, turn, call, tx)),

    async suspend(text, callIds) {
      const reply = answeredReply(text);
      try {
        const ended = await fenced(async (tx) => {
          const suspended = await endReply(reply, tx, true);
          // After `endReply` has locked the workspace, as every decision does.
          const delegated = new Set((await deps.delegations.openOf(turn.id, tx)).map(({ callId }) => callId));
          const asked = callIds.filter((id) => !delegated.has(id));
          if (asked.length > 0 && !(await deps.approvals.allOpen(turn.id, asked, tx))) throw new Decided();
          return suspended;
        });
        metrics?.ended(turn, reply);
        return ended;
      } catch (error) {
        if (error instanceof Decided) return undefined;
        throw error;
      }
    },

    offer: (key, content) => fenced((tx) => shownMessages.offer(`message:${key}`, content, tx)),

    reserve: (attempt, metered, activity) => fencedWith(activity, (tx) => budget.reserve(attempt, metered, tx)),

    async askForTokens(text) {
      const reply = answeredReply(text);
      const ended = await fenced(async (tx) => {
        await showApproval(deps, shownMessages, turn, await budget.question(tx), tx);
        return endReply(reply, tx, true);
      });
      metrics?.ended(turn, reply);
      metrics?.budget('asked');
      return ended;
    },

    async usage(entry, call = 'unannounced') {
      const { counted, reached } = await fenced(async (tx) => ({
        counted: await budget.record(entry, call, tx),
        reached: await deps.limits.reached(workspaceId, tx),
      }));
      if (counted !== undefined) metrics?.used({ ...entry, ...counted });
      return reached;
    },

    note: (key, text) => fenced((tx) => shownMessages.note(key, text, tx)),

    async finish(reply) {
      const ended = await fenced(async (tx) => {
        if (reply.messageStatus === 'delivered' && !isBackground(turn)) await deps.followUp?.(tx);
        return endReply(reply, tx);
      });
      metrics?.ended(turn, reply);
      return ended;
    },

    async abandon(errorCode, sentence, turnStatus = 'failed') {
      const ended = await fenced(async (tx) => {
        if (turn.reply_message_id === null && !isBackground(turn)) await insertReply(tx);
        if (!isBackground(turn) && !(await turns.answeredElsewhere(turn, tx)))
          await setUserMessage('failed', tx, messageError(errorCode).code);
        const reply = { turnStatus, messageStatus: 'failed', text: sentence, errorCode } as const;
        return endReply(reply, tx);
      });
      metrics?.ended(turn, { turnStatus, errorCode });
      return ended;
    },
  };
}
