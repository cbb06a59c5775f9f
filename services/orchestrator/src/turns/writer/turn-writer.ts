import { messageError } from '@uswarm/contract';
import { storable } from '@uswarm/service-kit';
import type { Transaction } from '../../platform/database/database.js';
import { allInOrder } from '../../platform/database/pipelined.js';
import type { AgentActivity } from '../../platform/database/schema.js';
import type { LeasedJob } from '../../platform/jobs/job-queue.js';
import type { ToolOutcome } from '../tools/platform-tool.js';
import { NOT_SENT } from '../tools/send-call.js';
import { recordTexts } from '../tools/record-texts.js';
import { usageLock } from '../../records/usage-lock.js';
import { showApproval } from './approval-cards.js';
import { isBackground } from '../background-turns.js';
import { createFencedWrites, type FencedWrites, LeaseLost, type Write, type WriteOptions } from './fenced-writes.js';
import type { StoredEntry } from '../journal/journal.store.js';
import { stoppedReply } from '../reply/finished-reply.js';
import { ReplyLimitExceeded } from '../content/reply-limit.js';
import { createTurnBeginning } from './turn-beginning.js';
import { createTurnBudget } from './turn-budget.js';
import { type AppendedEntry, appendEntry, type EntryParts, type ToolMessage } from '../journal/turn-entries.js';
import { answeredReply, createTurnEnding, type Ended, type FinishedReply } from './turn-ending.js';
import { nothingUnfinished } from '../../records/turn-rows.js';
import { createTurnLeftovers } from './turn-leftovers.js';
import { callKey, createTurnMessages, runtimeKey, unknownLine } from '../content/turn-messages.js';
import type { TurnWriter } from './turn-writes.js';
import { readsUntrusted, recordUntrusted } from './untrusted-start.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnWriterDeps } from './turn-writer-deps.js';
import { createTrackedProgress } from './tracked-progress.js';
import { createUserMessageStatus } from './user-message-status.js';

/** Before the turn was suspended, the user decided on a call or deleted its card, or a task ended. */
class Decided extends Error {
  override name = 'Decided';
}

/** Limit for one turn's calls to other systems. An untrusted runtime could send more than a user expects. */
const MAX_SENT_CALLS = 20;

export function createTurnWriter(deps: TurnWriterDeps, turn: TurnRow, job: LeasedJob): TurnWriter {
  const { turns, messages, events, statuses, metrics } = deps;
  const workspaceId = turn.workspace_id;
  let isEmpty = (): boolean => false;
  const taken = (): void => void (turn.reply_message_id = null);
  const shownMessages = createTurnMessages(deps, turn, { isEmpty: () => isEmpty(), taken });
  const leftovers = createTurnLeftovers(deps, turn);
  const budget = createTurnBudget(deps, turn);
  /** True while this process has run the whole turn and written nothing that can be unfinished at its end. */
  let isPlain = turn.status === 'queued' && turn.resumes_message_id === null;
  const setUserMessage = createUserMessageStatus(events, turn);
  const beginning = createTurnBeginning(deps, turn, setUserMessage);
  const endReply = createTurnEnding(
    deps,
    turn,
    leftovers,
    async (tx) => (isPlain ? nothingUnfinished(turn.reply_message_id) : turns.unfinishedOf(tx, turn.id)),
    beginning.addReply,
  );
  let shownSeq: number | undefined;
  /** Undefined without a reply. */
  const replySeq = (): number | undefined => (turn.reply_message_id === null ? undefined : shownSeq);

  const writes = createFencedWrites({ ...deps, usageLock: usageLock(turn.user_id) }, job);
  const fenced = writes.now;
  const progress = createTrackedProgress(deps, writes, job);

  const showing =
    (activity: AgentActivity) =>
    (tx: Transaction): Promise<unknown> =>
      activity === 'writing' ? statuses.showWriting(turn, job, tx) : statuses.setActivity(turn, activity, tx);

  const withActivity = (activity: AgentActivity | undefined) =>
    activity === undefined ? {} : { activity: showing(activity) };

  const orderOf = ({ usage }: EntryParts, activity: AgentActivity | undefined): WriteOptions => ({
    ...withActivity(activity),
    usage: usage !== undefined,
    journal: true,
  });

  /** Like `fenced`, for writes that can leave something unfinished. */
  const leaving: FencedWrites['now'] = (write) => {
    isPlain = false;
    return fenced(write);
  };

  function toolEnded({ content: { tool, state } }: ToolMessage): void {
    if (state !== 'running') metrics?.toolEnded(tool, state);
  }

  /** @throws LeaseLost */
  const appending =
    (generation: number, entry: StoredEntry & EntryParts) =>
    async (tx: Transaction): Promise<AppendedEntry> => {
      if (entry.tool !== undefined || entry.message !== undefined || entry.call !== undefined) isPlain = false;
      const place = { id: turn.id, workspaceId, generation, replySeq: replySeq() };
      const appended = await appendEntry({ ...deps, budget }, shownMessages, place, entry, tx);
      if (appended.verdict === 'stale') throw new LeaseLost();
      return appended;
    };

  /**
   * Ends the reply with `end`, or as stopped if the user stopped the turn. A stop locks the job as well, so none is
   * lost.
   */
  async function endUnlessStopped(reply: FinishedReply, end: Write<Ended>): Promise<Ended> {
    const [ended, last] = await writes.last(async (tx) => {
      const stopped = (await turns.isStopRequested(tx, turn.id)) ? stoppedReply(reply.text) : undefined;
      return [await (stopped === undefined ? end(tx) : endReply(stopped, tx)), stopped ?? reply] as const;
    });
    metrics?.ended(turn, last);
    return ended;
  }

  function countEntry(entry: EntryParts, { verdict, counted }: AppendedEntry): void {
    if (counted !== undefined && entry.usage !== undefined) metrics?.used({ ...entry.usage, ...counted });
    if (verdict === 'new' && entry.tool !== undefined) toolEnded(entry.tool);
  }

  return {
    async begin(start) {
      const isFirst = turn.reply_message_id === null;
      // Another process may have begun the turn.
      const activity = turn.activity ?? 'reading';
      const begin = async (tx: Transaction) => {
        const reply = await beginning.begin(activity, start?.instance, tx);
        if (start !== undefined) await recordUntrusted(deps.untrusted, turn, start, tx);
        return reply;
      };
      const begun = await fenced(begin, { usage: turn.status === 'queued' });
      if (begun.replyId !== '') turn.reply_message_id = begun.replyId;
      shownSeq = isBackground(turn) ? undefined : begun.seq;
      if (isFirst) metrics?.begun(turn);
      return { ...begun, activity };
    },

    async showReply() {
      const { reply_message_id: replyId } = turn;
      if (replyId !== null) return { replyId, seq: shownSeq ?? 0 };
      const { id, seq } = await fenced(beginning.addReply);
      turn.reply_message_id = id;
      shownSeq = seq;
      return { replyId: id, seq };
    },

    activity: (activity) =>
      writes.activity(showing(activity), () =>
        activity === 'writing'
          ? writes.single((tx, held) => statuses.showWriting(turn, held, tx))
          : writes.alone(showing(activity)),
      ),

    markRead() {
      if (!isBackground(turn))
        writes.later(
          (tx) => setUserMessage('read', tx),
          () => undefined,
        );
    },

    async setInstance(start) {
      const { instance } = start;
      if (!readsUntrusted(start))
        return (await writes.single((tx, held) => turns.setInstance(tx, held, instance))).stopRequested;
      return fenced(async (tx) => {
        const stored = await turns.setInstance(tx, job, instance);
        await recordUntrusted(deps.untrusted, turn, start, tx);
        return stored?.stopRequested ?? true;
      });
    },

    nextGeneration: (limit) =>
      fenced(async (tx) => {
        const generation = await turns.nextGeneration(tx, turn.id, limit);
        await leftovers.failLostTools(tx);
        // With a journal, cards stay: their calls are not repeated, or update the same card.
        if (await deps.journal.isJournalEmpty(tx, turn.id)) await leftovers.withdrawCards(tx);
        return generation;
      }),

    async postpone(waitMs) {
      await fenced(async (tx) => {
        await turns.postponeTurn(tx, turn.id, waitMs);
        await statuses.setActivity(turn, null, tx);
      });
      metrics?.postponed();
    },

    async judge(generation, entry) {
      const verdict = await writes.alone((tx) =>
        deps.journal.judgeEntry(tx, { turnId: turn.id, generation, ...entry }),
      );
      if (verdict === 'stale') throw new LeaseLost();
      return verdict;
    },

    async entry(generation, entry, activity) {
      const appended = await writes.together(appending(generation, entry), orderOf(entry, activity));
      countEntry(entry, appended);
      return appended;
    },

    entryLater(generation, entry, appended, activity) {
      const write = appending(generation, entry);
      writes.later(
        async (tx) => {
          const result = await write(tx);
          if (result.verdict === 'refused')
            throw new ReplyLimitExceeded('runtime_output_invalid', 'entry_out_of_order');
          return result;
        },
        (result) => {
          countEntry(entry, result);
          appended(result);
        },
        orderOf(entry, activity),
      );
    },

    flush: writes.flush,

    track(source) {
      isEmpty = source.isEmpty;
      progress.track(source);
    },

    saveProgress: () => progress.save(),

    async tool(tool, reads) {
      isPlain = false;
      const [, shown] = await writes.together((tx) =>
        allInOrder([
          reads === undefined ? undefined : deps.untrusted.addUntrustedSources(tx, turn, [reads]),
          shownMessages.tool(runtimeKey(tool.callId), tool.content, replySeq(), tx),
        ]),
      );
      toolEnded(tool);
      return shown;
    },

    async call({ id, tool, description, stoppable, reads }, commit) {
      const called = await leaving(async (tx) => {
        const stored = await deps.toolCalls.findToolCall(tx, turn.id, id);
        if (stored !== undefined) return { outcome: stored, state: undefined };
        const isStopped = stoppable && (await turns.isStopRequested(tx, turn.id));
        const ended: ToolOutcome = isStopped ? NOT_SENT.stopped : await commit(tx);
        const { text, failed, isUnknown, message, showsMessage = message !== undefined, ...texts } = ended;
        await recordTexts(deps.untrusted, turn, { reads, ...texts }, tx);
        // Texts from other systems, such as mails, can contain anything.
        const outcome = { text: storable(text), failed, showsMessage };
        await deps.toolCalls.insertToolCall(tx, turn.id, { id, tool }, outcome);
        const line = { type: 'tool_status', tool, description, state: failed ? 'failed' : 'completed' } as const;
        const shown = isUnknown === true ? unknownLine(line) : line;
        const seq = await shownMessages.tool(callKey(id), shown, replySeq(), tx);
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
        outcome: await deps.toolCalls.findToolCall(tx, turn.id, callId),
        sent: await deps.receipts.find(turn.id, callId, tx),
        approval: await deps.approvals.findApproval(tx, turn.id, callId),
        isDelegated: await deps.delegations.isDelegationOpen(tx, turn.id, callId),
      })),

    startTask: (start) =>
      leaving(async (tx) =>
        (await turns.isStopRequested(tx, turn.id)) ? NOT_SENT.stopped : await start(tx, shownMessages.show),
      ),

    async handOver(text, agentId) {
      const reply = { turnStatus: 'done', messageStatus: 'delegated', text, errorCode: null } as const;
      const userMessageId = turn.resumes_message_id ?? turn.user_message_id;
      const { conversation_id: conversationId, user_id: userId } = turn;
      return endUnlessStopped(reply, async (tx) => {
        const handedOver = await endReply(reply, tx);
        const [userMessage] = await messages.findMessages(tx, [userMessageId]);
        const ordinal = userMessage?.seq ?? handedOver.seq;
        await deps.queue.follow({ workspaceId, conversationId, agentId, userMessageId, userId, ordinal }, tx);
        return handedOver;
      });
    },

    markSent: (receipt, description) =>
      leaving(async (tx) => {
        // A stop locks the job as well, so no call is sent after it.
        if (await turns.isStopRequested(tx, turn.id)) return 'stopped';
        if ((await deps.receipts.count(turn.id, tx)) >= MAX_SENT_CALLS) return 'too many calls';
        await deps.receipts.insert(receipt, tx);
        // If the turn ends without an outcome, the line tells the user about the call.
        const line = { type: 'tool_status', tool: receipt.tool, description, state: 'running' } as const;
        await shownMessages.tool(callKey(receipt.call.id), line, replySeq(), tx);
        return undefined;
      }),

    ask: (call) => leaving((tx) => showApproval(deps, shownMessages, turn, call, tx)),

    async suspend(text, callIds) {
      const reply = answeredReply(text);
      try {
        return await endUnlessStopped(reply, async (tx) => {
          const suspended = await endReply(reply, tx, true);
          // After `endReply` has locked the workspace, as every decision does.
          const delegated = new Set(
            (await deps.delegations.findOpenDelegations(tx, turn.id)).map(({ callId }) => callId),
          );
          const asked = callIds.filter((id) => !delegated.has(id));
          if (asked.length > 0 && !(await deps.approvals.areApprovalsOpen(tx, turn.id, asked))) throw new Decided();
          return suspended;
        });
      } catch (error) {
        if (error instanceof Decided) return undefined;
        throw error;
      }
    },

    offer(key, content) {
      isPlain = false;
      return writes.together((tx) => shownMessages.offer(`message:${key}`, content, tx));
    },

    reserve: (attempt, metered, activity) =>
      writes.together((tx) => budget.reserve(attempt, metered, tx), {
        ...withActivity(activity),
        usage: true,
        completes: (reserved) => reserved === 'reserved',
      }),

    async askForTokens(text) {
      isPlain = false;
      const reply = answeredReply(text);
      return endUnlessStopped(reply, async (tx) => {
        await showApproval(deps, shownMessages, turn, await budget.question(tx), tx);
        tx.afterCommit(() => metrics?.budget('asked'));
        return endReply(reply, tx, true);
      });
    },

    usage(entry, call, recorded) {
      writes.later(
        async (tx, isLast) => ({
          counted: await budget.record(entry, call, tx),
          // Nothing follows the last write.
          reached: isLast ? undefined : await deps.limits.reached(workspaceId, tx),
        }),
        ({ counted, reached }) => {
          if (counted !== undefined) metrics?.used({ ...entry, ...counted });
          recorded(reached);
        },
        { usage: true },
      );
    },

    note: (key, text) => fenced((tx) => shownMessages.note(key, text, tx)),

    async finish(reply) {
      const isAnswered = reply.messageStatus === 'delivered' && !isBackground(turn);
      const ended = await writes.last((tx) => endReply(reply, tx), isAnswered ? deps.followUp : undefined);
      metrics?.ended(turn, reply);
      return ended;
    },

    async abandon(errorCode, sentence, turnStatus = 'failed') {
      const { reply_message_id: replyId } = turn;
      const ended = await writes.last(async (tx) => {
        // A repeated transaction has rolled its reply back.
        turn.reply_message_id = replyId;
        if (turn.reply_message_id === null && !isBackground(turn))
          turn.reply_message_id = (await beginning.insertReply(tx)).replyId;
        if (!isBackground(turn) && !(await turns.isAnsweredElsewhere(tx, turn)))
          await setUserMessage('failed', tx, messageError(errorCode).code);
        const reply = { turnStatus, messageStatus: 'failed', text: sentence, errorCode } as const;
        return endReply(reply, tx);
      });
      metrics?.ended(turn, { turnStatus, errorCode });
      return ended;
    },
  };
}
