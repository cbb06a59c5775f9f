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
  type Agent,
  type HistoryMessage,
  type RunTurnRequest,
} from '@uswarm/runtime-proto';
import type { SwarmMember } from '../agents/agents.store.js';
import type { AgentContext } from '../agents/agent-context.js';
import type { ModelLimits } from '../core/models.js';
import type { Reader } from '../users/users.store.js';
import type { HistoryRow } from './history.store.js';
import type { JournalEntry } from './journal.store.js';
import { instructionsOf } from './skills.js';
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
  turn: Pick<TurnRow, 'id' | 'agent_id'>;
  generation: number;
  members: readonly SwarmMember[];
  history: readonly HistoryRow[];
  /** A summary of the messages before the history; empty if there is none. */
  summary: string;
  /** Optional parts of the protocol that the runtime implements. */
  features: readonly string[];
  /** Limits of the agent's model; undefined if they are unknown. */
  limits: ModelLimits | undefined;
  /** The context of the agent of the turn. */
  agentContext: AgentContext;
  firstStep: number;
  /** The journal of the turn, empty for its first run. */
  journal: readonly JournalEntry[];
  now: Date;
  /** The user who reads the reply. */
  reader: Reader;
  /** The number of events that the caller has received. */
  fromEvent: number;
  /** The token for tool calls; empty if the agent has no tools. */
  toolToken: string;
  /** The token for model calls; empty without a model gateway. */
  modelToken: string;
}

export function turnRequest(input: TurnRequestInput): RunTurnRequest {
  const { turn, members, agentContext } = input;
  const answering = members.find(({ id }) => id === turn.agent_id);
  if (answering === undefined) throw new Error('the agent of the turn does not exist');
  return create(RunTurnRequestSchema, {
    turnId: turn.id,
    generation: input.generation,
    fromEvent: BigInt(input.fromEvent),
    agent: withContext(toAgent(answering), agentContext, input.features),
    colleagues: members.filter(({ id }) => id !== turn.agent_id).map(toAgent),
    history: input.history.map(toHistory),
    summary: input.summary,
    tools: agentContext.tools,
    memories: agentContext.memories.map((memory) => create(MemorySchema, memory)),
    firstStep: input.firstStep,
    ...journalOf(input),
    toolToken: input.toolToken,
    modelToken: input.modelToken,
    ...(input.limits === undefined ? {} : { limits: toLimits(input.limits) }),
    context: create(AnswerContextSchema, {
      nowMs: BigInt(input.now.getTime()),
      timeZone: input.reader.time_zone,
      language: input.reader.language,
      userName: input.reader.name,
    }),
  });
}

const KINDS = { step: EntryKind.STEP, result: EntryKind.RESULT };

/** Runtimes without the feature start from the beginning. */
function journalOf({ journal, features }: Pick<TurnRequestInput, 'journal' | 'features'>) {
  if (!features.includes('journal.1')) return {};
  const entries = journal.map(({ number, kind, body }) => create(EntrySchema, { number, kind: KINDS[kind], body }));
  return { journaled: true, journal: entries };
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
