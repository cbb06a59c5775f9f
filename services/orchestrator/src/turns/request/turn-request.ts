import { create } from '@bufbuild/protobuf';
import {
  AgentRole,
  AgentSchema,
  AnswerContextSchema,
  CallRecordSchema,
  EntryKind,
  EntrySchema,
  HistoryMessageSchema,
  HistoryRole,
  JournalLimitsSchema,
  MemorySchema,
  ModelLimitsSchema,
  RunTurnRequestSchema,
  type Agent,
  type AttachedFile,
  type HistoryMessage,
  type Resolution,
  type RunTurnRequest,
} from '@uswarm/runtime-proto';
import { MAX_TURN_JOURNAL_BYTES } from '@uswarm/service-kit';
import type { SwarmMember } from '../../records/agents.store.js';
import type { AgentContext } from './agent-context.js';
import type { ModelLimits } from '../../platform/core/models.js';
import type { PlatformTool, Subject } from '../tools/platform-tool.js';
import type { PromptFiles } from './attached-files.js';
import { HISTORY_BYTES, type HistoryRow } from './history.store.js';
import { type CallRecord, type JournalEntry, MAX_ENTRY_BYTES } from '../journal/journal.store.js';
import { offeredTools } from './offered-tools.js';
import { instructionsOf } from './skills.js';
import { HISTORY_MESSAGES } from './summary-need.js';
import type { TurnContext } from './turn-contexts.store.js';
import { isBackground } from '../background-turns.js';
import type { TurnRow } from '../turns.store.js';

const CALLS_BYTES = 16 * 1024;

/** Oldest first, within the limits; always contains the user message. Pure. */
export function boundedHistory(newestFirst: readonly HistoryRow[], maxBytes = HISTORY_BYTES): HistoryRow[] {
  const rows = newestFirst.slice(0, HISTORY_MESSAGES);
  // Replies by other agents to the same user message can be newer.
  const userMessage = rows.find(({ role }) => role === 'user');
  const kept = new Set<HistoryRow>();
  let bytes = 0;
  for (const row of new Set([...(userMessage === undefined ? [] : [userMessage]), ...rows])) {
    bytes += Buffer.byteLength(row.text);
    if (bytes > maxBytes && kept.size > 0) break;
    kept.add(row);
  }
  return rows.filter((row) => kept.has(row)).toReversed();
}

/** Newest within the limit, oldest first. Pure. */
function boundedCalls(calls: readonly CallRecord[]): CallRecord[] {
  let bytes = 0;
  const tooMany = calls.findLastIndex((call) => (bytes += Buffer.byteLength(JSON.stringify(call))) > CALLS_BYTES);
  return calls.slice(tooMany + 1);
}

export interface TurnRequestInput {
  turn: Pick<TurnRow, 'id' | 'agent_id' | 'shown_entries' | 'task_depth'>;
  generation: number;
  context: TurnContext;
  history: readonly HistoryRow[];
  /** Messages that steer the turn, oldest first. */
  steering: readonly HistoryMessage[];
  /** By message. */
  files: PromptFiles['files'];
  requestedTools: readonly PlatformTool[];
  subjects: ReadonlySet<Subject>;
  /** The runtime may not have received them. */
  resolutions: readonly Resolution[];
  features: readonly string[];
  firstStep: number;
  /** Empty for the turn's first run. */
  journal: readonly JournalEntry[];
  /** From earlier turns, oldest first. */
  recentCalls: readonly CallRecord[];
  /** The caller has received this many events. */
  fromEvent: number;
  /** Empty if the agent has no tools. */
  toolToken: string;
  /** Empty without a model gateway. */
  modelToken: string;
}

export function turnRequest(input: TurnRequestInput): RunTurnRequest {
  const { turn, context } = input;
  const { members, agentContext, limits, reader } = context;
  const answering = members.find(({ id }) => id === turn.agent_id);
  if (answering === undefined) throw new Error('the agent of the turn does not exist');
  return create(RunTurnRequestSchema, {
    turnId: turn.id,
    generation: input.generation,
    fromEvent: BigInt(input.fromEvent),
    agent: withContext(toAgent(answering), agentContext, input.features),
    colleagues: members.filter(({ id }) => id !== turn.agent_id).map(toAgent),
    history: [
      ...input.history.map((row) => toHistory(row, input.files.get(row.id))),
      // Otherwise nothing would tell the runtime what they say.
      ...(canSteer(input) ? [] : input.steering),
    ],
    steering: canSteer(input) ? [...input.steering] : [],
    summary: [context.summary?.text, context.sentCalls].filter(Boolean).join('\n\n'),
    tools: agentContext.tools,
    isTask: isBackground(turn),
    memories: agentContext.memories.map((memory) => create(MemorySchema, memory)),
    firstStep: input.firstStep,
    ...journalOf(input),
    toolToken: input.toolToken,
    modelToken: input.modelToken,
    ...(limits === null ? {} : { limits: toLimits(limits) }),
    context: create(AnswerContextSchema, {
      nowMs: BigInt(Date.parse(context.now)),
      timeZone: reader.time_zone,
      language: reader.language,
      userName: reader.name,
    }),
  });
}

/** Such runtimes read steering messages before a turn's next step. They have `JOURNAL`. */
export const STEER = 'steer.1';
/** Such runtimes continue from a journal. */
export const JOURNAL = 'journal.1';
/** Such runtimes read large entries, which include what is committed with them, and calls from earlier turns. */
const LARGE_JOURNAL = 'journal.2';
const SMALL_JOURNAL_BYTES = 2 * 1024 * 1024;
/** Such runtimes announce tool calls and get a token for each. They have `JOURNAL`. */
export const TOOL_GRANTS = 'tool-grants.1';
/** Such runtimes announce model calls. */
const BUDGET = 'budget.1';
const KINDS = { step: EntryKind.STEP, result: EntryKind.RESULT, steering: EntryKind.STEERING };

const canSteer = ({ features }: Pick<TurnRequestInput, 'features'>): boolean =>
  features.includes(JOURNAL) && features.includes(STEER);

/**
 * Runtimes without the feature, or that cannot read the journal, start from the beginning and get no tools with
 * effects.
 */
function journalOf(input: TurnRequestInput) {
  const { features } = input;
  const isLarge = features.includes(LARGE_JOURNAL);
  const isSteered = input.journal.some(({ kind }) => kind === 'steering');
  if (isSteered && !canSteer(input)) return {};
  if (!features.includes(JOURNAL) || (!isLarge && bytesOf(input.journal) > SMALL_JOURNAL_BYTES)) return {};
  const journal = input.journal.map(({ number, kind, body }) =>
    create(EntrySchema, { number, kind: KINDS[kind], body }),
  );
  const large = isLarge
    ? {
        journalLimits: create(JournalLimitsSchema, {
          entryBytes: MAX_ENTRY_BYTES,
          journalBytes: MAX_TURN_JOURNAL_BYTES,
        }),
        recentCalls: boundedCalls(input.recentCalls).map((call) => create(CallRecordSchema, call)),
      }
    : {};
  const { shown_entries: shownEntries } = input.turn;
  const continued = {
    journaled: true,
    journal,
    shownEntries,
    canWait: true,
    budgeted: features.includes(BUDGET),
    ...large,
  };
  if (!features.includes('tools.1')) return continued;
  const recent = new Set(input.recentCalls.map(({ tool }) => tool));
  const requestedTools = offeredTools(input.requestedTools, input.subjects, recent);
  return { ...continued, requestedTools, resolutions: [...input.resolutions] };
}

const bytesOf = (journal: readonly JournalEntry[]): number =>
  journal.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);

export function toLimits({ context_window, max_output_tokens, capabilities }: ModelLimits) {
  return create(ModelLimitsSchema, {
    contextWindow: context_window,
    maxOutputTokens: max_output_tokens,
    images: capabilities.images,
  });
}

export function toAgent(member: SwarmMember): Agent {
  return create(AgentSchema, {
    id: member.id,
    slug: member.slug,
    name: member.name,
    role: member.kind === 'manager' ? AgentRole.MANAGER : AgentRole.SUB_AGENT,
    description: member.description,
    skills: member.skills,
  });
}

function withContext(
  agent: Agent,
  { model, responseLength, prompts }: AgentContext,
  features: readonly string[],
): Agent {
  return { ...agent, model: model ?? '', responseLength, ...instructionsOf(prompts, features) };
}

export function toHistory(row: HistoryRow, files: readonly AttachedFile[] = []): HistoryMessage {
  return create(HistoryMessageSchema, {
    id: row.id,
    role: row.role === 'user' ? HistoryRole.USER : HistoryRole.AGENT,
    agentId: row.agent_id ?? '',
    text: row.text,
    files: [...files],
  });
}
