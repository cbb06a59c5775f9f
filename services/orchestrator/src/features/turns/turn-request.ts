import { create } from '@bufbuild/protobuf';
import {
  AgentRole,
  AgentSchema,
  AnswerContextSchema,
  EntryKind,
  EntrySchema,
  HistoryMessageSchema,
  HistoryRole,
  MemorySchema,
  ModelLimitsSchema,
  RunTurnRequestSchema,
  ToolSpecSchema,
  type Agent,
  type HistoryMessage,
  type Resolution,
  type RunTurnRequest,
} from '@uswarm/runtime-proto';
import type { SwarmMember } from '../agents/agents.store.js';
import type { AgentContext } from '../agents/agent-context.js';
import type { ModelLimits } from '../core/models.js';
import type { PlatformTool } from '../tools/platform-tool.js';
import type { HistoryRow } from './history.store.js';
import type { JournalEntry } from './journal.store.js';
import { instructionsOf } from './skills.js';
import type { TurnContext } from './turn-contexts.store.js';
import type { TurnRow } from './turns.store.js';

export const HISTORY_MESSAGES = 200;
const HISTORY_BYTES = 512 * 1024;

/** The newest messages within the limits, oldest first; always contains the user message. Pure. */
export function boundedHistory(newestFirst: readonly HistoryRow[], maxBytes = HISTORY_BYTES): HistoryRow[] {
  const rows = newestFirst.slice(0, HISTORY_MESSAGES);
  // Replies of other agents to the same user message can be newer.
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

export interface TurnRequestInput {
  turn: Pick<TurnRow, 'id' | 'agent_id' | 'shown_entries'>;
  generation: number;
  context: TurnContext;
  history: readonly HistoryRow[];
  /** Tools that the orchestrator executes. */
  requestedTools: readonly PlatformTool[];
  /** Outcomes of tool requests that the runtime may not have received. */
  resolutions: readonly Resolution[];
  /** Optional parts of the protocol that the runtime implements. */
  features: readonly string[];
  firstStep: number;
  /** The journal of the turn, empty for its first run. */
  journal: readonly JournalEntry[];
  /** The number of events that the caller has received. */
  fromEvent: number;
  /** The token for tool calls; empty if the agent has no tools. */
  toolToken: string;
  /** The token for model calls; empty without a model gateway. */
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
    history: input.history.map(toHistory),
    summary: context.summary?.text ?? '',
    tools: agentContext.tools,
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

/** The feature of runtimes that continue from a journal. */
export const JOURNAL = 'journal.1';
const KINDS = { step: EntryKind.STEP, result: EntryKind.RESULT };

/** Runtimes without the feature start from the beginning, and get no tools with effects. */
function journalOf(input: Pick<TurnRequestInput, 'turn' | 'journal' | 'features' | 'requestedTools' | 'resolutions'>) {
  const { features } = input;
  if (!features.includes(JOURNAL)) return {};
  const journal = input.journal.map(({ number, kind, body }) =>
    create(EntrySchema, { number, kind: KINDS[kind], body }),
  );
  const { shown_entries: shownEntries } = input.turn;
  const continued = { journaled: true, journal, canWait: true };
  if (!features.includes('tools.1')) return continued;
  const requestedTools = input.requestedTools.map(({ name, description, inputSchema }) =>
    create(ToolSpecSchema, { name, description, inputSchema: JSON.stringify(inputSchema) }),
  );
  return { ...continued, shownEntries, requestedTools, resolutions: [...input.resolutions] };
}

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

/** Adds the settings of the agent of the turn. */
function withContext(
  agent: Agent,
  { model, responseLength, prompts }: AgentContext,
  features: readonly string[],
): Agent {
  return { ...agent, model: model ?? '', responseLength, ...instructionsOf(prompts, features) };
}

export function toHistory(row: HistoryRow): HistoryMessage {
  return create(HistoryMessageSchema, {
    id: row.id,
    role: row.role === 'user' ? HistoryRole.USER : HistoryRole.AGENT,
    agentId: row.agent_id ?? '',
    text: row.text,
  });
}
