import { storable } from '@uswarm/service-kit';
import {
  type Attempt as AnnouncedAttempt,
  type CallRecord as ReportedCall,
  type Entry,
  EntryKind,
  type Tool,
  ToolState as ProtoToolState,
  type Usage,
} from '@uswarm/runtime-proto';
import type { ModelPrice } from '../../platform/core/models.js';
import type { Attempt } from '../../metering/reservations.store.js';
import type { UsageEntry } from '../../records/usage-rows.js';
import { type CallRecord, type JournalEntry, MAX_ENTRY_BYTES } from '../journal/journal.store.js';
import { ReplyLimitExceeded } from '../content/reply-limit.js';
import type { ToolMessage } from '../journal/turn-entries.js';
import type { TurnRow } from '../turns.store.js';

/** UTF-16 code units. */
const MAX_NAME_LENGTH = 256;
/** UTF-16 code units. */
export const MAX_NOTE_LENGTH = 4_000;
/** No model call has more tokens. */
const MAX_TOKENS = 100_000_000n;
/** No turn has more model calls. */
const MAX_STEP = 10_000;
const MAX_RECORD_BYTES = 4 * 1024;

export function checkNames(...names: string[]): void {
  if (names.some((name) => name.length > MAX_NAME_LENGTH))
    throw new ReplyLimitExceeded('runtime_output_invalid', 'name_too_long');
}

const ENTRY_KINDS: Partial<Record<EntryKind, JournalEntry['kind']>> = {
  [EntryKind.STEP]: 'step',
  [EntryKind.RESULT]: 'result',
};

/** @throws ReplyLimitExceeded if the kind is unknown, or if the body is too large or cannot be stored */
export function journalEntry({ number, kind, body }: Entry): JournalEntry {
  const known = ENTRY_KINDS[kind];
  if (known === undefined || body !== storable(body) || Buffer.byteLength(body) > MAX_ENTRY_BYTES)
    throw new ReplyLimitExceeded('runtime_output_invalid', 'entry_invalid');
  return { number, kind: known, body };
}

/** @throws ReplyLimitExceeded if the numbers are impossible for a model call */
function checkCall(step: number, counts: readonly bigint[]): void {
  if (step > MAX_STEP || counts.some((tokens) => tokens > MAX_TOKENS))
    throw new ReplyLimitExceeded('runtime_output_invalid', 'usage_out_of_range');
}

export type PriceOfCall = (provider: string) => ModelPrice;

function callOf(turn: TurnRow, call: Pick<Usage, 'step' | 'provider' | 'model'>, price: PriceOfCall) {
  const provider = storable(call.provider.slice(0, MAX_NAME_LENGTH));
  return {
    userId: turn.user_id,
    workspaceId: turn.workspace_id,
    agentId: turn.agent_id,
    conversationId: turn.conversation_id,
    step: call.step,
    provider,
    model: storable(call.model.slice(0, MAX_NAME_LENGTH)),
    ...price(provider),
  };
}

/** @throws ReplyLimitExceeded if the estimate is impossible for a model call */
export function attemptOf(turn: TurnRow, announced: AnnouncedAttempt, price: PriceOfCall): Attempt {
  const { promptTokens, maxOutputTokens } = announced;
  checkCall(announced.step, [promptTokens, maxOutputTokens]);
  return {
    usageTurnId: turn.usage_turn_id,
    ...callOf(turn, announced, price),
    promptTokens: Number(promptTokens),
    maxOutputTokens: Number(maxOutputTokens),
  };
}

/** @throws ReplyLimitExceeded if the usage is impossible for a model call */
export function usageEntry(turn: TurnRow, usage: Usage, price: PriceOfCall): UsageEntry {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = usage;
  checkCall(usage.step, [promptTokens, completionTokens, cachedTokens, reasoningTokens]);
  return {
    turnId: turn.usage_turn_id,
    ...callOf(turn, usage, price),
    promptTokens: Number(promptTokens),
    completionTokens: Number(completionTokens),
    cachedTokens: Number(cachedTokens),
    reasoningTokens: Number(reasoningTokens),
    estimated: usage.estimated,
  };
}

/** @throws ReplyLimitExceeded if a name is too long */
export function toolMessage({ callId, tool, state, description }: Tool): ToolMessage {
  checkNames(callId, tool);
  const ended = state === ProtoToolState.FAILED ? ('failed' as const) : ('completed' as const);
  return {
    callId: storable(callId),
    content: {
      type: 'tool_status',
      tool: storable(tool),
      description: storable(description.slice(0, MAX_NOTE_LENGTH)),
      state: state === ProtoToolState.RUNNING ? 'running' : ended,
    },
  };
}

/** @returns what later turns are told about a call; undefined if it is too large */
export function callRecord(reported: ReportedCall): CallRecord | undefined {
  const record = {
    tool: storable(reported.tool),
    arguments: storable(reported.arguments),
    failed: reported.failed,
    sources: reported.sources.map(({ title, address }) => ({ title: storable(title), address: storable(address) })),
  };
  return Buffer.byteLength(JSON.stringify(record)) <= MAX_RECORD_BYTES ? record : undefined;
}
