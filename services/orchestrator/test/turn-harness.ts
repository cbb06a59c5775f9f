import { NO_FILES } from './no-files.js';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { AgentPrompt } from '@uswarm/contract';
import { type RunTurnRequest, type TurnEvent, TurnEventSchema } from '@uswarm/runtime-proto';
import { type Clock, silentLogger, systemClock } from '@uswarm/service-kit';
import type { LeasedJob } from '../src/platform/jobs/job-queue.js';
import type { RuntimeRow } from '../src/records/runtimes.store.js';
import type { MessageChange } from '../src/records/message-rows.js';
import type { FoundApproval } from '../src/records/approvals.store.js';
import type { CallRecord } from '../src/turns/journal/journal.store.js';
import type { Refusal } from '../src/turns/content/reply-limit.js';
import { ABSENT_FEATURES } from './absent-features.js';
import { createSafeMarkdown } from '../src/turns/content/reply-text.js';
import { createTurnWorker, type TurnWorkerDeps } from '../src/turns/worker.js';
import type { PlatformTool } from '../src/turns/tools/platform-tool.js';
import type { StoredOutcome } from '../src/turns/tools/tool-calls.store.js';
import type { UntrustedSource } from '../src/turns/tools/untrusted-content.js';
import type { TurnContext } from '../src/turns/request/turn-contexts.store.js';
import type { Progress, ReplyTexts } from '../src/turns/reply/turn-progress.store.js';
import type { TurnRow } from '../src/turns/turns.store.js';
import type { TurnProcess } from '../src/records/turn-rows.js';
import type { TurnTokens } from '../src/metering/turn-tokens.js';
import { createMemoryJournal } from './memory-journal.js';
import { createMemoryLimits } from './memory-limits.js';
import { createMemoryRules, type MemoryRulesOptions } from './memory-rules.js';
import { createMemoryReceipts } from './memory-receipts.js';
import { createMemoryReservations } from './memory-reservations.js';
import type { Call } from './runtime-script.js';
import { NO_TRANSACTION } from './transaction.js';
import { JOB, QUEUED, RUNTIME } from './turn-rows.js';

export type { Call };
export { ANSWERED, chunk, done, entry, failure, stopped, thinking, tool, used } from './runtime-script.js';

/** Runs a turn in memory, with a runtime that follows the script: one entry per `runTurn` call. */
export function createTurnHarness(
  script: Call[],
  more: MemoryRulesOptions & {
    turn?: Partial<TurnRow>;
    runtime?: Partial<RuntimeRow>;
    clock?: Clock;
    limited?: () => boolean;
    /** True if other turns have reserved the remaining tokens. */
    reserved?: () => boolean;
    /** The rest of its budget. Default: some. */
    left?: () => TurnTokens['left'];
    deadlineMs?: number;
    /** The runtime does not know the turn when it is stopped. */
    unstoppable?: boolean;
    tools?: string[];
    renewToolTokenMs?: number;
    modelGateway?: boolean;
    platformTools?: PlatformTool[];
    /** Names tools that need the user's approval. */
    askedTools?: string[];
    /** Fails a call to `advance`; calls count from 1. */
    onAdvance?: (call: number) => void;
    /** Optional protocol parts that the runtime implements. */
    features?: string[];
    prompts?: AgentPrompt[];
    onSuspend?: (approvals: Map<string, FoundApproval>) => void;
    /** Kinds of content that others wrote and earlier turns have read. */
    untrusted?: UntrustedSource[];
    recentCalls?: CallRecord[];
    /** Called before the object store is used; may throw. */
    onStore?: () => void;
    /** True if this process holds the lease, which is the default. */
    holds?: () => boolean;
    /** Progress and texts that another process has saved. */
    saved?: Progress & ReplyTexts;
    /** Called by `identify`; may throw. */
    onIdentify?: () => void;
    /** Called when the events of a turn are no longer read; may throw. */
    onLeave?: () => void;
  },
) {
  const turn: TurnRow = { ...QUEUED, ...more.turn };
  const requests: RunTurnRequest[] = [];
  const { entries, journal, bodies } = createMemoryJournal(more);
  const recorded = {
    requests,
    journal: entries,
    runtimeMadeDue: 0,
    ended: undefined as { status: string; errorCode: string | null } | undefined,
    stops: [] as { turnId: string; generation: number }[],
    notes: [] as string[],
    /** Tool message states, in the order in which they were shown. */
    lines: [] as string[],
    chunks: [] as { offset: number; chunk: string; chunk_seq: number; generation: number }[],
    suspended: false,
    waits: [] as number[],
    cards: [] as string[],
    renewals: [] as string[],
    modelRenewals: [] as string[],
    commits: [] as number[],
    /** Steps whose tokens were reserved; `releases` has the steps whose tokens were released. */
    reservations: [] as number[],
    releases: [] as number[],
    resolutions: [] as string[],
    /** Kinds of content in the conversation that others wrote. */
    untrusted: new Set<UntrustedSource>(more.untrusted),
    refusals: [] as Refusal[],
    usage: [] as number[],
    /** Error types of the turn's spans. */
    spanErrors: [] as unknown[],
    /** Counts how often the turn or its runtime was read from the stores. */
    reads: 0,
  };
  const messages = new Map<string, { text?: string; status?: string }>();
  let checkStop = (): void => undefined;
  let seq = 0;
  let instance = 'i';
  let tokens = 0;
  let deleted = false;
  /** Message ids by their key in the turn. */
  const keys = new Map<string, string>();
  const calls = new Map<string, StoredOutcome>();
  const approvals = new Map<string, FoundApproval>();
  const lines = new Map<string, { id: string; state: string }>();
  const showLine = (id: string, state: string): void => {
    lines.set(id, { id, state });
    recorded.lines.push(state);
  };
  const readTurn = async () => {
    recorded.reads += 1;
    return deleted ? undefined : { ...turn, runtime: { ...RUNTIME, ...more.runtime } };
  };
  const updateMessage = (id: string, { content, status }: MessageChange): void => {
    if (content?.type === 'tool_status') showLine(id, content.state);
    const text = content?.type === 'text' ? { text: content.text } : {};
    messages.set(id, { ...messages.get(id), ...text, ...(status && { status }) });
  };
  let saved = more.saved;
  let context: TurnContext | undefined;
  const setInstance = (at: TurnProcess | undefined, changes: Partial<TurnRow> = {}) => {
    Object.assign(turn, { ...changes, runtime_instance: at?.id ?? null });
    context ??= at?.context as TurnContext | undefined;
    return { stopRequested: turn.stop_requested };
  };

  async function* runTurn(request: RunTurnRequest): AsyncGenerator<TurnEvent> {
    requests.push(request);
    const call = script[requests.length - 1];
    if (call === undefined) throw new Error('the script has no further call');
    let number = request.fromEvent;
    try {
      for (const [index, event] of (call.events ?? []).entries()) {
        const barrier = call.barriers?.includes(index + 1) ?? false;
        yield create(TurnEventSchema, { number: (number += 1n), event, barrier });
      }
      await call.atTheEnd?.();
    } finally {
      more.onLeave?.();
    }
    if (call.error !== undefined) throw call.error;
  }

  const deps: TurnWorkerDeps = {
    ...NO_FILES,
    withTransaction: (run) => run(NO_TRANSACTION),
    withStatement: (run) => run(NO_TRANSACTION),
    jobs: {
      holds: async () => more.holds?.() ?? true,
      lockAll: () => Promise.resolve(),
      remove: () => Promise.resolve(),
      end: async () => more.holds?.() ?? true,
      tryMakeDueNow: () => Promise.resolve(),
      makeDueNow: async () => void (recorded.runtimeMadeDue += 1),
    },
    turns: {
      getTurn: readTurn,
      getTurnToRun: async () => {
        const found = await readTurn();
        return found && { ...found, next_turn_id: null };
      },
      mergeTurn: async () => undefined,
      findSteeringTurns: async () => [],
      endSteeringTurns: async () => [],
      startTurn: async (_db, _id, { replyId, instance: at }) =>
        setInstance(at, { status: 'running', reply_message_id: replyId }),
      setReply: async (_db, _id, replyId) => void (turn.reply_message_id = replyId),
      setInstance: async (_db, _job, at) => setInstance(at),
      nextGeneration: async (_db, _id, limit) => {
        const progress = entries.at(-1)?.generation ?? 0;
        return turn.generation - limit < progress ? (turn.generation += 1) : undefined;
      },
      postponeTurn: async (_db, _id, waitMs) => {
        recorded.waits.push(waitMs);
        Object.assign(turn, { generation: turn.generation + 1, runtime_instance: null });
      },
      isAnsweredElsewhere: async () => false,
      finishTurn: async (_db, _id, { status, errorCode }) => void (recorded.ended = { status, errorCode }),
      suspendTurn: async () => void (recorded.suspended = true),
      unfinishedOf: async () => ({ tools: true, approvals: true, tasks: true, replyId: turn.reply_message_id }),
      loadSteering: async () => [],
      loadHistory: async () => [{ id: 'question', role: 'user', agent_id: null, text: 'why?' }],
      findRunningTools: async () => [],
      findOpenCards: async () => [],
      isStopRequested: async () => turn.stop_requested,
      recordCall: async (_db, { step, provider }) => {
        recorded.usage.push(step);
        return { provider, modelId: null, kind: 'step', costMicros: null };
      },
      findNextStep: async () => 1,
    },
    journal,
    bodies,
    statuses: {
      begun: async () => undefined,
      ended: async () => undefined,
      setActivity: async () => undefined,
      showWriting: async () => true,
      refreshAgent: async () => undefined,
    },
    users: { findReader: async () => ({ name: 'Ada', language: 'en', time_zone: 'UTC' }) },
    loadAgentContext: async () => ({
      members: [{ id: 'a', slug: 'a', name: 'A', kind: 'manager', description: '', skills: [] }],
      model: null,
      responseLength: 'auto',
      prompts: more.prompts ?? [],
      tools: more.tools ?? [],
      requestedTools: (more.platformTools ?? []).map(({ name }) => name),
      askedTools: more.askedTools ?? [],
      memories: [],
    }),
    models: { limits: () => undefined, price: () => ({ modelId: null, prices: null }) },
    platformTools: more.platformTools ?? [],
    serverTools: async () => [],
    progress: {
      find: async () => saved,
      save: async (_job, progress, texts) => void (saved = { text: '', received: '', ...saved, ...progress, ...texts }),
      saveText: async (_job, progress, texts) => {
        saved = { ...progress, ...texts };
        return { stopRequested: false };
      },
    },
    contexts: { findTurnContext: async () => context },
    approvals: {
      approvalExpiryAt: async (_db, afterMs) => new Date(Date.now() + afterMs),
      findApproval: async (_db, _turn, callId) => approvals.get(callId),
      insertApproval: async (_db, { callId, argumentsHash, key = null, integrationId = null }) =>
        void approvals.set(callId, { status: 'open', argumentsHash, key, integrationId, decidedAt: null }),
      areApprovalsOpen: async (_db, _turn, callIds) => {
        more.onSuspend?.(approvals);
        return callIds.every((callId) => approvals.get(callId)?.status === 'open');
      },
      supersedeApprovalsOf: async () => [],
      closeQuestions: async () => [],
      takeAnswer: async () => null,
    },
    reservations: createMemoryReservations(recorded, more.left),
    warnAboutBudget: async () => undefined,
    receipts: createMemoryReceipts(),
    toolCalls: {
      findToolCall: async (_db, _turn, callId) => calls.get(callId),
      insertToolCall: async (_db, _turn, { id }, outcome) => void calls.set(id, outcome),
    },
    rules: createMemoryRules(more, recorded.untrusted),
    untrusted: {
      addUntrustedSources: async (_db, _turn, sources) => sources.forEach((source) => recorded.untrusted.add(source)),
      recordReadTexts: async () => undefined,
      recordWrittenTexts: async () => undefined,
    },
    messages: {
      updateMessage: async (_db, id, change) => updateMessage(id, change),
      findMessages: async () => [],
      findToolLine: async (_db, _turn, key) => lines.get(keys.get(key) ?? ''),
      findMessageOfTurn: async (_db, _turn, key) => (key.startsWith('approval:') ? keys.get(key) : undefined),
      hasSystemMessage: async (_db, _conversation, text) => recorded.notes.includes(text),
    },
    events: {
      append: async () => (seq += 1),
      async addMessage({ id, content, turn: { key } = { key: '' } }) {
        keys.set(key, id);
        if (content.type === 'system') recorded.notes.push(content.text);
        else if (content.type === 'action_card') recorded.cards.push(`${content.title}: ${content.description}`);
        else messages.set(id, {});
        if (content.type === 'tool_status') showLine(id, content.state);
        return (seq += 1);
      },
      async placeMessage({ id: newId, content, turn: { key } }) {
        const replyId = turn.reply_message_id;
        const id = replyId ?? newId;
        turn.reply_message_id = null;
        keys.set(key, id);
        messages.delete(id);
        if (content.type === 'action_card') recorded.cards.push(`${content.title}: ${content.description}`);
        return { id, seq: (seq += 1), isReply: replyId !== null };
      },
      async changeMessage({ id, change, types }) {
        updateMessage(id, change);
        return types.map(() => (seq += 1));
      },
      lock: async () => undefined,
    },
    database: NO_TRANSACTION,
    ...ABSENT_FEATURES,
    markdown: createSafeMarkdown('https://api.example.com'),
    limits: createMemoryLimits(more),
    runtimes: {
      getRuntime: async () => {
        recorded.reads += 1;
        return { ...RUNTIME, ...more.runtime };
      },
    },
    client: {
      identify: async () => {
        more.onIdentify?.();
        return { instanceId: instance, features: more.features ?? [] };
      },
      runTurn: (_to, request) => runTurn(request),
      status: async () => ({ busy: false, turns: [], idleMs: 0 }),
      stopTurn: async (_to, stop) => {
        if (more.unstoppable === true) throw new ConnectError('', Code.NotFound);
        recorded.stops.push(stop);
      },
      summarize: async () => {
        throw new ConnectError('', Code.Unimplemented);
      },
      advance: async ({ committedThrough, resolutions }) => {
        const count = recorded.commits.push(Number(committedThrough));
        more.onAdvance?.(count);
        recorded.resolutions.push(
          ...resolutions.map(({ callId, text, toolToken }) => `${callId}: ${text}${toolToken}`),
        );
      },
      renewToolToken: async (_to, renewal) => {
        recorded.renewals.push(renewal.toolToken);
        recorded.modelRenewals.push(renewal.modelToken);
      },
      forget: () => undefined,
      close: () => undefined,
    },
    toolTokens: async ({ workspaceId, agentId, turnId }, grant) =>
      grant === undefined
        ? `list token of ${workspaceId} ${agentId} ${turnId} ${(tokens += 1)}`
        : `token for “${Object.values(grant).join()}” of ${workspaceId} ${agentId} ${turnId}`,
    modelTokens: async ({ workspaceId, agentId, turnId, purpose }) =>
      more.modelGateway === true ? `model token of ${workspaceId} ${agentId} ${turnId} for a ${purpose}` : '',
    retryMs: 1,
    inSpan: (_name, _options, run) =>
      run({
        setStatus: () => undefined,
        setAttribute: (_key: string, value: unknown) => recorded.spanErrors.push(value),
      } as never),
    turnSignals: { watch: (_turn, { stop = () => undefined }) => ((checkStop = stop), () => undefined) },
    publish: async ({ event, payload }) => {
      if (event === 'message.chunk') recorded.chunks.push(payload as (typeof recorded.chunks)[number]);
      return true;
    },
    metrics: {
      begun: () => undefined,
      ended: () => undefined,
      used: () => undefined,
      toolEnded: () => undefined,
      budget: () => undefined,
      contextReduced: () => undefined,
      postponed: () => undefined,
      refused: (refusal) => void recorded.refusals.push(refusal),
    },
    ...(more.renewToolTokenMs === undefined ? {} : { renewToolTokenMs: more.renewToolTokenMs }),
    ...(more.deadlineMs === undefined ? {} : { deadlineMs: more.deadlineMs }),
    clock: more.clock ?? systemClock,
    logger: silentLogger,
  };
  return {
    recorded,
    saved: () => saved,
    reply: () => messages.get(turn.reply_message_id ?? ''),
    userMessage: () => messages.get('question'),
    calls: () => requests.map(({ generation, fromEvent }) => ({ generation, fromEvent: Number(fromEvent) })),
    requestStop: () => void (turn.stop_requested = true),
    /** Also notifies the process that runs the turn. */
    stopNow: () => ((turn.stop_requested = true), checkStop()),
    /** Changes the turn, or deletes it. @returns how often it was read before */
    change(changed: Partial<TurnRow> | undefined): number {
      if (changed === undefined) deleted = true;
      else Object.assign(turn, changed);
      return recorded.reads;
    },
    restartRuntime: (name: string) => void (instance = name),
    run: (job: Partial<LeasedJob> = {}, signal: AbortSignal = new AbortController().signal) =>
      createTurnWorker(deps)({ ...JOB, ...job }, signal),
  };
}
