import type { Transaction } from '../../platform/database/database.js';
import { allInOrder } from '../../platform/database/pipelined.js';
import type { CountedCall } from '../../records/usage-rows.js';
import type { UsageEntry } from '../../records/usage-rows.js';
import type { LimitReached, UsageLimits } from '../../metering/usage-limits.js';
import type { OfferedContent } from '../content/agent-content-schema.js';
import type { CallRecord, EntryVerdict, StoredEntry } from './journal.store.js';
import type { TurnBudget, UsageOf } from '../writer/turn-budget.js';
import { runtimeKey, type ToolStatus, type TurnMessages } from '../content/turn-messages.js';
import type * as journalRecords from './journal.store.js';

export interface ToolMessage {
  callId: string;
  content: ToolStatus;
}

/** Committed with the entry, or not at all. */
export interface EntryParts {
  usage?: UsageEntry | undefined;
  /** Default: `unannounced`. */
  usageOf?: UsageOf;
  tool?: ToolMessage | undefined;
  message?: { key: string; content: OfferedContent } | undefined;
  call?: CallRecord | undefined;
  /** Messages that the turn has read: they need no separate turn. */
  steeredBy?: readonly string[] | undefined;
}

export interface AppendedEntry {
  verdict: EntryVerdict;
  /** Sequence of the entry's last event. */
  seq?: number;
  /** Absent if the usage was recorded before. */
  counted?: CountedCall | undefined;
  /** Set if the usage has reached the token limit. */
  reached?: LimitReached | undefined;
}

export interface EntryDeps {
  journal: Pick<typeof journalRecords, 'appendEntry'>;
  budget: Pick<TurnBudget, 'record'>;
  limits: Pick<UsageLimits, 'reached'>;
  /** Ends steering messages' turns. @returns the sequence of its last event */
  steer: (messageIds: readonly string[], tx: Transaction) => Promise<number | undefined>;
}

export interface AppendedTo {
  id: string;
  workspaceId: string;
  generation: number;
  /** Tool calls are listed before it. */
  replySeq: number | undefined;
}

/**
 * Appends an entry with its parts. A repeated entry changes nothing. Call it under the turn's lease, with a pipelined
 * transaction.
 */
export async function appendEntry(
  { journal, budget, limits, steer }: EntryDeps,
  shown: Pick<TurnMessages, 'tool' | 'findTool' | 'offer'>,
  turn: AppendedTo,
  entry: StoredEntry & EntryParts,
  tx: Transaction,
): Promise<AppendedEntry> {
  const { usage, usageOf = 'unannounced', tool, message, steeredBy } = entry;
  const appending = journal.appendEntry(tx, turn, entry);
  const line = tool && shown.findTool(runtimeKey(tool.callId), tx);
  const [verdict] = await allInOrder([appending, line]);
  if (verdict !== 'new') return { verdict };
  // Precedes the events, because they lock the workspace.
  const [counted, reached] =
    usage === undefined
      ? []
      : await allInOrder([budget.record(usage, usageOf, tx), limits.reached(turn.workspaceId, tx)]);
  let seq =
    tool === undefined ? undefined : await shown.tool(runtimeKey(tool.callId), tool.content, turn.replySeq, tx, line);
  if (steeredBy !== undefined) seq = await steer(steeredBy, tx);
  if (message !== undefined) seq = await shown.offer(`message:${message.key}`, message.content, tx);
  return { verdict, counted, reached, ...(seq === undefined ? {} : { seq }) };
}
