import { LIMITS } from '@uswarm/contract';
import {
  type Attempt as AnnouncedAttempt,
  type CallRecord as ReportedCall,
  type Entry,
  EntryKind,
  type Message,
  type Tool,
  ToolState as ProtoToolState,
  type Usage,
} from '@uswarm/runtime-proto';
import { storable } from '@uswarm/service-kit';
import type { Attempt } from '../../metering/reservations.store.js';
import type { ModelPrice } from '../../platform/core/models.js';
import type { UsageEntry } from '../../records/usage-rows.js';
import { isId } from '../../platform/database/id.js';
import { type OfferedContent, offeredContent } from '../content/agent-content-schema.js';
import { type Refusal, ReplyLimitExceeded } from '../content/reply-limit.js';
import { type CallRecord, type JournalEntry, MAX_ENTRY_BYTES } from '../journal/journal.store.js';
import type { EntryParts, ToolMessage } from '../journal/turn-entries.js';
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
  [EntryKind.STEERING]: 'steering',
};

/** @throws ReplyLimitExceeded if the kind is unknown, or if the body is too large or cannot be stored */
export function journalEntry({ number, kind, body }: Entry): JournalEntry {
  const known = ENTRY_KINDS[kind];
  if (known === undefined || body !== storable(body) || Buffer.byteLength(body) > MAX_ENTRY_BYTES)
    throw new ReplyLimitExceeded('runtime_output_invalid', 'entry_invalid');
  return { number, kind: known, body };
}

/** @returns undefined without messages @throws ReplyLimitExceeded for ids that no message has */
export function steeredBy({ steeredBy: ids }: Pick<Entry, 'steeredBy'>): string[] | undefined {
  if (ids.length > LIMITS.queuedTurns || !ids.every(isId))
    throw new ReplyLimitExceeded('runtime_output_invalid', 'entry_invalid');
  return ids.length === 0 ? undefined : ids;
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
function toolMessage({ callId, tool, state, description }: Tool): ToolMessage {
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
function callRecord(reported: ReportedCall): CallRecord | undefined {
  const record = {
    tool: storable(reported.tool),
    arguments: storable(reported.arguments),
    failed: reported.failed,
    sources: reported.sources.map(({ title, address }) => ({ title: storable(title), address: storable(address) })),
  };
  return Buffer.byteLength(JSON.stringify(record)) <= MAX_RECORD_BYTES ? record : undefined;
}

export interface ReplyPartsDeps {
  turn: Pick<TurnRow, 'agent_id'>;
  /** Tools that the orchestrator executes. It shows their calls itself. */
  platformTools: Pick<readonly string[], 'includes'>;
  /** Tools whose calls the runtime may report. */
  tools: () => Pick<ReadonlySet<string>, 'has'>;
  /** Counts refused runtime output after which the turn continues. */
  refused: (refusal: Refusal) => void;
}

export function createReplyParts({ turn, platformTools, tools, refused }: ReplyPartsDeps) {
  const parts = new Set<string>();

  function countPart(part: string): void {
    parts.add(part);
    if (parts.size > LIMITS.replyParts) throw new ReplyLimitExceeded('reply_too_many_parts', 'too_many_parts');
  }

  /** @returns undefined for content that clients cannot display, such as from a newer or custom runtime */
  function offeredMessage({ key, agentId, content }: Message): { key: string; content: OfferedContent } | undefined {
    checkNames(key);
    countPart(`message:${key}`);
    if (agentId !== '' && agentId !== turn.agent_id) return void refused('other_agent');
    const offered = offeredContent(content);
    return offered === undefined ? undefined : { key: storable(key), content: offered };
  }

  /** @returns undefined for a call that the runtime may not report, or a record that is too large */
  function recordOf(call: Entry['call']): EntryParts['call'] {
    if (call === undefined || !isOffered(call.tool)) return undefined;
    const record = callRecord(call);
    if (record === undefined) refused('record_too_large');
    return record;
  }

  function isOffered(tool: string): boolean {
    if (tools().has(tool)) return true;
    refused('tool_not_offered');
    return false;
  }

  /** @returns undefined for a tool that the agent may not use */
  function toolLine(tool: Tool): ToolMessage | undefined {
    const line = toolMessage(tool);
    // Without an offer for them, a runtime reports tools that only the orchestrator executes.
    if (platformTools.includes(line.content.tool.trim())) return undefined;
    countPart(`tool:${tool.callId}`);
    return isOffered(tool.tool) ? line : undefined;
  }

  return { countPart, offeredMessage, recordOf, toolLine, clear: () => parts.clear() };
}
