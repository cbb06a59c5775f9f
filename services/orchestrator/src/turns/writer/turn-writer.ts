import { storable } from '@uswarm/service-kit';
import type { Transaction } from '../../platform/database/database.js';
import { allInOrder } from '../../platform/database/pipelined.js';
import type { AgentActivity } from '../../platform/database/schema.js';
import type { LeasedJob } from '../../platform/jobs/job-queue.js';
import { isBackground } from '../background-turns.js';
import { LeaseLost } from '../commit.js';
import { ReplyLimitExceeded } from '../content/reply-limit.js';
import { callKey, runtimeKey, unknownLine } from '../content/turn-messages.js';
import type { StoredEntry } from '../journal/journal.store.js';
import { type AppendedEntry, appendEntry, type EntryParts } from '../journal/turn-entries.js';
import { isServerTool, type ToolOutcome } from '../tools/platform-tool.js';
import { recordTexts } from '../tools/record-texts.js';
import { NOT_SENT } from '../tools/send-call.js';
import type { TurnRow } from '../turns.store.js';
import { readsUntrusted, recordUntrusted } from './turn-beginning.js';
import { showApproval } from './turn-budget.js';
import type { TurnWriter } from './turn-writes.js';

import { endWrites } from './end-writes.js';
import { createWriting, type TurnWriterDeps, type Writing } from './writing.js';

/** Limit for one turn's calls to other systems. An untrusted runtime could send more than a user expects. */
const MAX_SENT_CALLS = 20;

export function createTurnWriter(deps: TurnWriterDeps, turn: TurnRow, job: LeasedJob): TurnWriter {
  const writing = createWriting(deps, turn, job);
  return { ...lifeWrites(writing), ...outputWrites(writing), ...callWrites(writing), ...endWrites(writing) };
}

/** Begins the turn, and keeps track of where it runs. */
function lifeWrites(
  writing: Writing,
): Pick<
  TurnWriter,
  | 'begin'
  | 'showReply'
  | 'activity'
  | 'markRead'
  | 'setInstance'
  | 'nextGeneration'
  | 'postpone'
  | 'flush'
  | 'track'
  | 'saveProgress'
> {
  const { deps, turn, job, known, leftovers, beginning, setUserMessage, commit, commits, showing } = writing;
  const { turns, statuses, metrics } = deps;
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
      const begun = await commit(begin, { usage: turn.status === 'queued' });
      if (begun.replyId !== '') turn.reply_message_id = begun.replyId;
      known.shownSeq = isBackground(turn) ? undefined : begun.seq;
      if (isFirst) metrics?.begun(turn);
      return { ...begun, activity };
    },

    async showReply() {
      const { reply_message_id: replyId } = turn;
      if (replyId !== null) return { replyId, seq: known.shownSeq ?? 0 };
      const { id, seq } = await commit(beginning.addReply);
      turn.reply_message_id = id;
      known.shownSeq = seq;
      return { replyId: id, seq };
    },

    activity: (activity) =>
      commit(
        () =>
          activity === 'writing'
            ? commit((tx) => statuses.showWriting(turn, job, tx), { as: 'statement' })
            : commit(showing(activity), { as: 'alone' }),
        { as: 'unless others wait', activity: showing(activity) },
      ),

    markRead() {
      if (!isBackground(turn)) commit((tx) => setUserMessage('read', tx), { as: 'later', committed: () => undefined });
    },

    async setInstance(start) {
      const { instance } = start;
      if (!readsUntrusted(start))
        return (await commit((tx) => turns.setInstance(tx, job, instance), { as: 'statement' })).stopRequested;
      return commit(async (tx) => {
        const stored = await turns.setInstance(tx, job, instance);
        await recordUntrusted(deps.untrusted, turn, start, tx);
        return stored?.stopRequested ?? true;
      });
    },

    nextGeneration: (limit) =>
      commit(async (tx) => {
        const generation = await turns.nextGeneration(tx, turn.id, limit);
        await leftovers.failLostTools(tx);
        // With a journal, cards stay: their calls are not repeated, or update the same card.
        if (await deps.journal.isJournalEmpty(tx, turn.id)) await leftovers.withdrawCards(tx);
        return generation;
      }),

    async postpone(waitMs) {
      await commit(async (tx) => {
        await turns.postponeTurn(tx, turn.id, waitMs);
        await statuses.setActivity(turn, null, tx);
      });
      metrics?.postponed();
    },

    flush: commits.flush,

    track(source) {
      known.isEmpty = source.isEmpty;
      commits.track(source);
    },

    saveProgress: commits.saveProgress,
  };
}

/** Stores what the turn produces. */
function outputWrites(
  writing: Writing,
): Pick<TurnWriter, 'judge' | 'entry' | 'entryLater' | 'tool' | 'offer' | 'note' | 'noteLimit' | 'reserve' | 'usage'> {
  const { deps, turn, known, shownMessages, budget, steer, commit, replySeq, toolEnded, withActivity } = writing;
  const { metrics } = deps;
  const workspaceId = turn.workspace_id;
  const orderOf = ({ usage }: EntryParts, activity: AgentActivity | undefined) => ({
    ...withActivity(activity),
    usage: usage !== undefined,
    journal: true,
  });

  /** @throws LeaseLost */
  const appending =
    (generation: number, entry: StoredEntry & EntryParts) =>
    async (tx: Transaction): Promise<AppendedEntry> => {
      if (entry.tool !== undefined || entry.message !== undefined || entry.call !== undefined) known.isPlain = false;
      const place = { id: turn.id, workspaceId, generation, replySeq: replySeq() };
      const appended = await appendEntry({ ...deps, budget, steer }, shownMessages, place, entry, tx);
      if (appended.verdict === 'stale') throw new LeaseLost();
      return appended;
    };

  function countEntry(entry: EntryParts, { verdict, counted }: AppendedEntry): void {
    if (counted !== undefined && entry.usage !== undefined) metrics?.used({ ...entry.usage, ...counted });
    if (verdict === 'new' && entry.tool !== undefined) toolEnded(entry.tool);
  }
  return {
    async judge(generation, entry) {
      const verdict = await commit((tx) => deps.journal.judgeEntry(tx, { turnId: turn.id, generation, ...entry }), {
        as: 'alone',
      });
      if (verdict === 'stale') throw new LeaseLost();
      return verdict;
    },

    async entry(generation, entry, activity) {
      const appended = await commit(appending(generation, entry), { as: 'together', ...orderOf(entry, activity) });
      countEntry(entry, appended);
      return appended;
    },

    entryLater(generation, entry, appended, activity) {
      const write = appending(generation, entry);
      commit(
        async (tx) => {
          const result = await write(tx);
          if (result.verdict === 'refused')
            throw new ReplyLimitExceeded('runtime_output_invalid', 'entry_out_of_order');
          return result;
        },
        {
          as: 'later',
          committed(result) {
            countEntry(entry, result);
            appended(result);
          },
          ...orderOf(entry, activity),
        },
      );
    },

    async tool(tool, reads) {
      known.isPlain = false;
      const [, shown] = await commit(
        (tx) =>
          allInOrder([
            reads === undefined ? undefined : deps.untrusted.addUntrustedSources(tx, turn, [reads]),
            shownMessages.tool(runtimeKey(tool.callId), tool.content, replySeq(), tx),
          ]),
        { as: 'together' },
      );
      toolEnded(tool);
      return shown;
    },

    offer(key, content) {
      known.isPlain = false;
      return commit((tx) => shownMessages.offer(`message:${key}`, content, tx), { as: 'together' });
    },

    note: (key, text) => commit((tx) => shownMessages.note(key, text, tx)),

    noteLimit: (limit) => commit((tx) => shownMessages.limit(limit, tx)),

    reserve: (attempt, metered, activity) =>
      commit((tx) => budget.reserve(attempt, metered, tx), {
        as: 'together',
        ...withActivity(activity),
        usage: true,
        completes: (reserved) => reserved === 'reserved',
      }),

    usage(entry, call, recorded) {
      commit(
        async (tx, isLast) => ({
          counted: await budget.record(entry, call, tx),
          // Nothing follows the last write.
          reached: isLast ? undefined : await deps.limits.reached(workspaceId, tx),
        }),
        {
          as: 'later',
          committed({ counted, reached }) {
            if (counted !== undefined) metrics?.used({ ...entry, ...counted });
            recorded(reached);
          },
          usage: true,
        },
      );
    },
  };
}

/** Stores calls that the orchestrator executes. */
function callWrites(
  writing: Writing,
): Pick<TurnWriter, 'call' | 'findCall' | 'grant' | 'startTask' | 'markSent' | 'ask' | 'question' | 'answer'> {
  const { deps, turn, leftovers, shownMessages, commit, replySeq, leaving } = writing;
  const { turns, metrics } = deps;
  return {
    async call({ id, tool, description, stoppable, reads }, execute) {
      const called = await leaving(async (tx) => {
        const stored = await deps.toolCalls.findToolCall(tx, turn.id, id);
        if (stored !== undefined) return { outcome: stored, state: undefined };
        if (isServerTool(tool)) await leftovers.closeQuestions(id, tx);
        const isStopped = stoppable && (await turns.isStopRequested(tx, turn.id));
        const ended: ToolOutcome = isStopped ? NOT_SENT.stopped : await execute(tx);
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
      commit(async (tx) => ({
        outcome: await deps.toolCalls.findToolCall(tx, turn.id, callId),
        sent: await deps.receipts.find(turn.id, callId, tx),
        approval: await deps.approvals.findApproval(tx, turn.id, callId),
        isDelegated: await deps.delegations.isDelegationOpen(tx, turn.id, callId),
      })),

    grant: (call) =>
      leaving(async (tx) => {
        if ((await deps.toolCalls.findToolCall(tx, turn.id, call.id)) !== undefined) return;
        await deps.toolCalls.insertToolCall(tx, turn.id, call, { text: '', failed: false, showsMessage: false });
      }),

    startTask: (start) =>
      leaving(async (tx) =>
        (await turns.isStopRequested(tx, turn.id)) ? NOT_SENT.stopped : await start(tx, shownMessages.show),
      ),

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

    ask: (call) => leaving(async (tx) => (await showApproval(deps, shownMessages, turn, call, tx)).seq),

    question: (call, isFirst) =>
      leaving(async (tx) => {
        if (await turns.isStopRequested(tx, turn.id)) return undefined;
        if (isFirst) await leftovers.closeQuestions(call.id, tx);
        return (await showApproval(deps, shownMessages, turn, call, tx)).id;
      }),

    answer: (cardMessageId) => commit((tx) => deps.approvals.takeAnswer(tx, cardMessageId)),
  };
}
