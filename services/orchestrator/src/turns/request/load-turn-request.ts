import { ACTION_CARD_TOOL, DELEGATION_TOOL } from '@uswarm/contract/agent-tools';
import type { HistoryMessage, RunTurnRequest } from '@uswarm/runtime-proto';
import type { Clock } from '@uswarm/service-kit';
import type { AgentContext, LoadedAgent, Question } from './agent-context.js';
import type { ModelCatalog } from '../../platform/core/models.js';
import type { ModelTokens } from '../model-calls/model-tokens.js';
import type { ToolTokens } from '../../records/tool-tokens.js';
import type { RuntimeIdentity } from '../../runtimes/runtime-client.js';
import type { Reader } from '../../records/users.store.js';
import { isBackground } from '../background-turns.js';
import {
  attachedFiles,
  type AttachmentsIn,
  type FileContents,
  type FileNote,
  FILES,
  type Patience,
  type PromptFiles,
  type Transcripts,
} from './attached-files.js';
import type { HistoryRow } from './history.store.js';
import { fileIds } from './message-to-text.js';
import type { Reply } from '../reply/reply-state.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import { subjectsOf } from './offered-tools.js';
import { loadSteering } from './steering.js';
import { describeSentCalls } from './sent-calls.js';
import { maxMessagesOf, neededMessages, needsSummary, wholeMessages, windowOf } from './summary-need.js';
import type { JournalBodies } from '../journal/journal-bodies.js';
import type { CallRecord, JournalEntry, RecentTurns } from '../journal/journal.store.js';
import type { WorkflowReports } from '../workflows/workflow-reports.js';
import { isServerTool, type PlatformTool, type ServerTools } from '../tools/platform-tool.js';
import { removedTool } from '../tools/removed-tool.js';
import type { UntrustedSource } from '../tools/untrusted-content.js';
import type { TurnContext } from './turn-contexts.store.js';
import { boundedHistory, JOURNAL, STEER, TOOL_GRANTS, turnRequest } from './turn-request.js';
import type { TurnRow } from '../turns.store.js';
import type * as turnRecords from '../turns.store.js';
import type * as journalRecords from '../journal/journal.store.js';
import type * as turnContextRecords from './turn-contexts.store.js';
import type * as userRecords from '../../records/users.store.js';
import type * as summaryRecords from '../summaries/summaries.store.js';
import type { Database } from '../../platform/database/database.js';

export interface TurnRequestDeps {
  database: Database;
  turns: Pick<typeof turnRecords, 'loadHistory' | 'loadSteering' | 'findNextStep'>;
  journal: Pick<typeof journalRecords, 'listEntries' | 'findRecentTurns' | 'listCalls'>;
  bodies: Pick<JournalBodies, 'read'>;
  contexts: Pick<typeof turnContextRecords, 'findTurnContext'>;
  users: Pick<typeof userRecords, 'findReader'>;
  summaries: Pick<typeof summaryRecords, 'findSummary'>;
  receipts: Pick<ReceiptLog, 'ofConversation'>;
  reports: WorkflowReports;
  loadAgentContext: (agentId: string, question: Question, serverTools: readonly PlatformTool[]) => Promise<LoadedAgent>;
  models: Pick<ModelCatalog, 'limits' | 'price'>;
  platformTools: readonly PlatformTool[];
  serverTools: ServerTools;
  files: FileContents;
  transcripts: Transcripts;
  attachmentsIn: AttachmentsIn;
  toolTokens: ToolTokens;
  modelTokens: ModelTokens;
  clock: Clock;
}

/** Memories are chosen for this many user messages. */
const QUESTIONS = 3;
/** The model is told the tool calls from this many earlier turns. */
const RECENT_TURNS = 3;
const RECENT_CALLS = 24;
const NO_FILES: PromptFiles = { files: new Map(), problems: [], isComplete: true };
/** A turn waits this long for its files. Longer ones are read on, and the agent can ask for them. */
const PATIENCE: Patience = {
  withinMs: 20_000,
  // A server without an accelerator needs about as long as the recording is.
  recordingsWithinMs: 60_000,
};
const NO_TURNS: RecentTurns = { turnIds: [], calls: [] };
const SENT_CALLS = 10;
/** Profile for a user who was deleted while the turn ran. */
const UNKNOWN_READER: Reader = { name: '', language: '', time_zone: '' };

export interface LoadedRequest {
  request: RunTurnRequest;
  context: TurnContext;
  requestedTools: readonly PlatformTool[];
  /** Kinds of content from others that the runtime receives or can get with this request. */
  untrusted: readonly UntrustedSource[];
  /** The model's window in tokens. */
  contextWindow: number;
  /** False if a file was not read in time. */
  hasFiles: boolean;
  /** Unreadable files in the message. */
  fileProblems: readonly FileNote[];
  /** True if older messages need a summary after the turn. */
  needsSummary: boolean;
  /** Reads the messages that steer the turn, except known ones; undefined if the runtime cannot be told. */
  steering?: ((known: ReadonlySet<string>, signal: AbortSignal) => Promise<HistoryMessage[]>) | undefined;
}

interface StartContext {
  context: TurnContext;
  recentCalls: CallRecord[];
  /** Others wrote the agents' texts. */
  isImported: boolean;
}

type ReplyPlace = Pick<Reply, 'generation' | 'from'> & { requests: Pick<Reply['requests'], 'resolutions'> };

/** For a turn that has not begun. */
export const NEW_REPLY: ReplyPlace = { generation: 1, from: 0, requests: { resolutions: [] } };

export type LoadRequest = (
  turn: TurnRow,
  reply: ReplyPlace,
  options: Pick<RuntimeIdentity, 'features' | 'windows'> & { patience?: Patience; signal: AbortSignal },
) => Promise<LoadedRequest>;

/** Reads everything that a runtime needs for a turn. Settings are as they were when the turn started. */
export function createTurnRequestLoader(deps: TurnRequestDeps): LoadRequest {
  async function startContext(
    turn: TurnRow,
    summary: TurnContext['summary'],
    question: Question,
    serverTools: readonly PlatformTool[],
  ): Promise<StartContext> {
    const isTask = isBackground(turn);
    const [{ members, untrusted, ...loaded }, reader, recent, sentCalls] = await Promise.all([
      deps.loadAgentContext(turn.agent_id, question, serverTools),
      turn.known?.reader ?? deps.users.findReader(deps.database, turn.user_id),
      isTask
        ? NO_TURNS
        : deps.journal.findRecentTurns(deps.database, turn.user_message_id, {
            turns: RECENT_TURNS,
            calls: RECENT_CALLS,
          }),
      isTask || turn.known?.receipts === false ? [] : deps.receipts.ofConversation(turn.conversation_id, SENT_CALLS),
    ]);
    const agentContext = toolsForDepth(loaded, deps.platformTools, turn.task_depth ?? 0, members.length);
    const context = {
      now: deps.clock.now().toISOString(),
      reader: reader ?? UNKNOWN_READER,
      agentContext,
      members,
      limits: deps.models.limits(agentContext.model) ?? null,
      summary,
      recentTurns: recent.turnIds,
      sentCalls: describeSentCalls(sentCalls),
    };
    return { context, recentCalls: recent.calls, isImported: untrusted };
  }

  const summaryFor = async (turn: TurnRow): Promise<TurnContext['summary']> =>
    isBackground(turn) || turn.known?.summary === false
      ? null
      : ((await deps.summaries.findSummary(deps.database, turn.conversation_id)) ?? null);

  /** A background turn knows only its task. */
  async function historyOf(turn: TurnRow, messages: number, coveredSeq: number): Promise<HistoryRow[]> {
    const { task_prompt: text } = turn;
    if (text === null) return deps.turns.loadHistory(deps.database, turn, messages, coveredSeq);
    const ids = fileIds(text);
    const attachments = ids.length === 0 ? [] : await deps.attachmentsIn(turn.conversation_id, ids);
    const files = attachments.length === 0 ? {} : { attachments };
    return [{ id: turn.user_message_id, role: 'user', agent_id: null, text, ...files }];
  }

  /** Journal entries for a runtime that starts the turn. A runtime that already has it needs none. */
  async function entriesFor(turn: TurnRow, fromEvent: number, signal: AbortSignal): Promise<JournalEntry[]> {
    return fromEvent > 0 ? [] : deps.bodies.read(await deps.journal.listEntries(deps.database, turn.id), signal);
  }

  return async (turn, reply, { features, windows, patience = PATIENCE, signal }) => {
    const isNew = reply.generation === 1 && turn.runtime_instance === null && turn.resumes_message_id === null;
    // A turn that continues another one answers the other turn's message.
    const answered = { ...turn, user_message_id: turn.resumes_message_id ?? turn.user_message_id };
    const stored =
      isNew || !features.includes(JOURNAL) ? undefined : await deps.contexts.findTurnContext(deps.database, turn.id);
    const summary = stored === undefined ? await summaryFor(turn) : stored.summary;
    const maxMessages = maxMessagesOf(features);
    const reading = historyOf(answered, maxMessages, summary?.throughSeq ?? 0);
    const serverTools = await deps.serverTools(turn.user_id);
    const question: Question = async () => newestQuestions(await reading);
    const [{ context, recentCalls, isImported }, newestFirst, firstStep, journal] = await Promise.all([
      stored === undefined ? startContext(answered, summary, question, serverTools) : startedWith(stored, deps),
      reading,
      isNew ? 1 : deps.turns.findNextStep(deps.database, turn.usage_turn_id),
      features.includes(JOURNAL) && !isNew ? entriesFor(turn, reply.from, signal) : [],
    ]);
    const { model, tools, requestedTools } = context.agentContext;
    const window = windowOf(context.limits, model, windows);
    const whole = wholeMessages(window, maxMessages);
    const needed = neededMessages(newestFirst, whole);
    // A user message is part of the history, unlike the message of a finished workflow.
    const isAsked = newestFirst.some(({ id }) => id === answered.user_message_id);
    const report = isAsked ? undefined : await deps.reports.promptFor(answered.user_message_id);
    // An agent without tools needs no token.
    const toolToken = tools.length === 0 ? '' : await deps.toolTokens(tokenTurn(turn));
    const modelToken = await deps.modelTokens({ ...tokenTurn(turn), purpose: 'turn' });
    const fileOptions = {
      // A server that sees no pictures refuses them, and the runtime sends the request again without them.
      images: context.limits?.capabilities.images ?? true,
      window: window.tokens,
    };
    const attached = features.includes(FILES)
      ? await attachedFiles(needed, deps.files, deps.transcripts, {
          ...fileOptions,
          ...patience,
          turn,
          answered: [answered.user_message_id],
          userId: turn.user_id,
          signal,
        })
      : NO_FILES;
    const readSteering = (known: ReadonlySet<string>, until: AbortSignal) =>
      loadSteering(deps, turn, known, { ...fileOptions, ...PATIENCE, signal: until });
    // A new turn has none: messages that were sent before it begins are part of its history.
    const steering = isNew || isBackground(turn) ? [] : await readSteering(new Set(), signal);
    const requested = toolsNamed(requestedTools, [...deps.platformTools, ...serverTools]);
    const request = turnRequest({
      turn,
      generation: reply.generation,
      context,
      requestedTools: requested,
      subjects: subjectsOf(newestFirst, context),
      resolutions: reply.requests.resolutions,
      features,
      files: attached.files,
      history: [...boundedHistory(needed), ...reportRow(answered, report)],
      steering,
      firstStep,
      journal,
      recentCalls,
      fromEvent: reply.from,
      toolToken,
      modelToken,
    });
    return {
      request,
      context,
      requestedTools: requested,
      untrusted: untrustedIn({ toolToken, features, newestFirst, requested, isImported }),
      contextWindow: window.tokens,
      hasFiles: attached.isComplete,
      fileProblems: attached.problems,
      needsSummary: needsSummary(newestFirst, whole),
      steering: request.journaled && features.includes(STEER) && !isBackground(turn) ? readSteering : undefined,
    };
  };
}

/** The context with which the turn began. It was stored together with what that made untrusted. */
const startedWith = async (context: TurnContext, { journal, database }: TurnRequestDeps): Promise<StartContext> => ({
  context,
  isImported: false,
  recentCalls: await journal.listCalls(database, context.recentTurns, RECENT_CALLS),
});

function untrustedIn({
  toolToken,
  features,
  newestFirst,
  requested,
  isImported,
}: {
  toolToken: string;
  features: readonly string[];
  newestFirst: readonly HistoryRow[];
  requested: readonly PlatformTool[];
  isImported: boolean;
}): UntrustedSource[] {
  return [
    // A release 0.2 runtime has a token for calls, and announces none.
    ...(toolToken !== '' && !features.includes(TOOL_GRANTS) ? (['web'] as const) : []),
    // An imported agent's texts came in a file, too.
    ...(isImported || newestFirst.some(isAttachedByUser) ? (['attachment'] as const) : []),
    // A description can contain orders, too.
    ...(requested.some(({ isForeign = false }) => isForeign) ? (['app'] as const) : []),
  ];
}

/** A file that an agent made has the agent's own text. */
const isAttachedByUser = ({ role, attachments }: HistoryRow): boolean => role === 'user' && attachments !== undefined;

/** The message that an agent answers in place of a user message. */
const reportRow = ({ user_message_id: id }: TurnRow, text: string | undefined): HistoryRow[] =>
  text === undefined ? [] : [{ id, role: 'user', agent_id: null, text }];

/** A server tool that is no longer available is still offered: the turn may have called it. */
function toolsNamed(names: readonly string[], tools: readonly PlatformTool[]): PlatformTool[] {
  const named = tools.filter(({ name }) => names.includes(name));
  const known = new Set(named.map(({ name }) => name));
  return [...named, ...names.filter((name) => isServerTool(name) && !known.has(name)).map(removedTool)];
}

/** Tools that ask the user directly: a background turn answers another agent. */
const USER_TOOLS: readonly string[] = [ACTION_CARD_TOOL];

/** Removes the tools that turns at this depth, or agents without colleagues, cannot use. Pure. */
function toolsForDepth(
  context: AgentContext,
  platformTools: readonly PlatformTool[],
  depth: number,
  members: number,
): AgentContext {
  const isUsable = (name: string): boolean => {
    const tool = platformTools.find((one) => one.name === name);
    if (tool?.switchedBy === DELEGATION_TOOL && members < 2) return false;
    return depth <= (tool?.maxDepth ?? Infinity);
  };
  return {
    ...context,
    tools: depth === 0 ? context.tools : context.tools.filter((name) => !USER_TOOLS.includes(name)),
    requestedTools: context.requestedTools.filter(isUsable),
    askedTools: context.askedTools.filter(isUsable),
  };
}

/** A follow-up question alone may not name its subject, so several questions are read. */
const newestQuestions = (newestFirst: readonly HistoryRow[]): string[] =>
  newestFirst.flatMap(({ role, text }) => (role === 'user' ? [text] : [])).slice(0, QUESTIONS);

export const tokenTurn = ({ id, workspace_id, agent_id }: Pick<TurnRow, 'id' | 'workspace_id' | 'agent_id'>) => ({
  workspaceId: workspace_id,
  agentId: agent_id,
  turnId: id,
});
