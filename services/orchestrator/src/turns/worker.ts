import { setTimeout as sleep } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { MESSAGE_ERRORS } from '@uswarm/contract';
import { backoffDelay, type Clock, failSpan, inSpan, type Logger, type McpGrant } from '@uswarm/service-kit';
import type { Database, Transaction } from '../platform/database/database.js';
import type { JobQueue, LeasedJob } from '../platform/jobs/job-queue.js';
import type { JobResult } from '../platform/jobs/job-worker.js';
import { RUNTIME_JOB } from '../records/runtime-requests.js';
import { QUEUED } from '../records/runtime-state.js';
import type * as runtimeRecords from '../records/runtimes.store.js';
import type { RuntimeRow } from '../records/runtimes.store.js';
import type { RuntimeClient, RuntimeTarget } from '../runtimes/runtime-client.js';
import { isBackground } from './background-turns.js';
import { type Refusal, ReplyLimitExceeded } from './content/reply-limit.js';
import type { SafeMarkdown } from './content/reply-text.js';
import { type JournalBodies, JournalUnavailable } from './journal/journal-bodies.js';
import {
  type Effect,
  LEASED,
  type LeasedTurn,
  type MachineEvent,
  type RuntimeState,
  step,
  type Step,
} from './machine.js';
import type { ReceiptLog } from './receipts/receipt-log.js';
import { failedReply, stoppedReply, limitedReply } from './reply/finished-reply.js';
import type { WatchAnswers } from './reply/call-questions.js';
import { createLiveEvents } from './reply/reply-stream.js';
import type { Reply } from './reply/reply-state.js';
import { createReply } from './reply/reply.js';
import type { SavedText, TurnProgress } from './reply/turn-progress.store.js';
import {
  createTurnRequestLoader,
  type LoadRequest,
  tokenTurn,
  type TurnRequestDeps,
} from './request/load-turn-request.js';
import { createTurnPreparation, type PreparedTurn, startOf } from './request/prepare-turn.js';
import {
  type CancellationPoller,
  failureOfRuntime,
  mayUseTools,
  openStream,
  type StreamDeps,
  type TurnStream,
} from './stream.js';
import type { FollowUps } from './summaries/follow-ups.js';
import type { CallRules } from './tools/call-rules.js';
import { isServerTool } from './tools/platform-tool.js';
import type * as turnRecords from './turns.store.js';
import type { TurnToRun } from './turns.store.js';
import { LeaseLost } from './commit.js';
import { TokensReserved, TokensUsed } from './writer/turn-beginning.js';
import { createTurnWriter } from './writer/turn-writer.js';
import type { TurnWriterDeps } from './writer/writing.js';
import type { Begun, TurnWriter } from './writer/turn-writes.js';

const RETRY = { initialMs: 250, maxMs: 2_000 };
export const TURN_DEADLINE_MS = 30 * 60_000;

export interface TurnWorkerDeps extends Omit<TurnWriterDeps, 'followUp'>, TurnRequestDeps, StreamDeps {
  database: Database;
  turns: TurnWriterDeps['turns'] &
    TurnRequestDeps['turns'] &
    StreamDeps['turns'] &
    Pick<typeof turnRecords, 'getTurnToRun'>;
  jobs: TurnWriterDeps['jobs'] & Pick<JobQueue, 'makeDueNow'>;
  rules: CallRules;
  journal: TurnWriterDeps['journal'] & TurnRequestDeps['journal'];
  bodies: JournalBodies;
  markdown: SafeMarkdown;
  progress: TurnWriterDeps['progress'] & Pick<TurnProgress, 'find'>;
  receipts: TurnWriterDeps['receipts'] & TurnRequestDeps['receipts'] & Pick<ReceiptLog, 'recordOwn'>;
  runtimes: Pick<typeof runtimeRecords, 'getRuntime'>;
  client: RuntimeClient;
  followUps?: FollowUps | undefined;
  publish: Parameters<typeof createLiveEvents>[0];
  /** Counted from the turn's start. Default: half an hour. */
  deadlineMs?: number;
  retryMs?: number;
  /** Default: a span of OpenTelemetry. */
  inSpan?: typeof inSpan;
  clock: Clock;
  logger: Logger;
}

/** One lease's work on a turn. */
interface Attempt {
  turn: TurnToRun;
  writer: TurnWriter;
  signal: AbortSignal;
  /** Jobs that follow an answered turn. */
  needed: { summary: boolean };
  /** The error with which the turn has ended. */
  outcome: { error?: string | null };
  stops: { poll?: CancellationPoller };
  /** Clock time in ms. Set once the turn has begun, like `reply`. */
  deadlineAt: number;
  reply?: Reply;
  /** The ready runtime that was found last. */
  to: RuntimeTarget | undefined;
  /** Set before a turn begins, until it connects to its runtime. */
  prepared?: (PreparedTurn & Pick<Begun, 'stopRequested'>) | undefined;
  stream?: TurnStream | undefined;
}

/** Runs a turn to its end, across runtime and orchestrator restarts: performs the effects that the machine decides on. */
export function createTurnWorker(deps: TurnWorkerDeps) {
  const { turns, clock, inSpan: spanned = inSpan } = deps;
  const loadRequest = createTurnRequestLoader(deps);

  return async (job: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    const turn = await turns.getTurnToRun(deps.database, job.subjectId);
    const { failures, attempts } = job;
    const now = clock.now().getTime();
    const leased = step(LEASED, { type: 'leased', turn: turn && leasedTurn(turn), failures, attempts, now });
    if (turn === undefined) return { done: true };
    const attempt = createAttempt(deps, turn, job, signal);
    const perform = createEffects(deps, loadRequest, attempt);
    let failure: unknown;
    const failed = (error: unknown): MachineEvent => failureOf(deps, attempt, (failure = error));
    const resultOf = ({ state }: Step): JobResult => {
      if (state.at === 'ended' && state.result !== 'thrown') return state.result;
      // The process is shutting down: the next lease holder continues.
      if (signal.aborted) return { againInMs: 0 };
      throw failure;
    };
    try {
      // A lease that ends before the turn runs is not worth a span.
      let isRun = false;
      const discard = (): boolean => !isRun;
      return await spanned(`invoke_agent ${turn.agent_slug}`, { ...invocation(turn), discard }, async (span) => {
        const begun = await drive(leased, perform, failed, ({ at, run }) => at === 'ended' || run !== undefined);
        if (begun.state.at === 'ended') return resultOf(begun);
        isRun = true;
        const driven = await drive(begun, perform, failed, ({ at }) => at === 'ended');
        const result = resultOf(driven);
        const error = attempt.outcome.error ?? (driven.last && LEFT[driven.last.type]);
        if (error !== undefined) failSpan(span, error);
        return result;
      });
    } finally {
      await attempt.stream?.close();
      attempt.reply?.[Symbol.dispose]();
    }
  };
}

/** A turn's span continues the trace in which it was queued, whichever process runs it. */
const invocation = ({ id, agent_id, agent_slug, conversation_id, traceparent, generation }: TurnToRun) => ({
  kind: 'client' as const,
  parent: traceparent === null ? {} : { traceparent },
  attributes: {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.id': agent_id,
    'gen_ai.agent.name': agent_slug,
    'gen_ai.conversation.id': conversation_id,
    'uswarm.turn': id,
    'uswarm.turn.generation': generation,
  },
});

/** Error types of a turn's span, by the event with which a worker leaves the turn to a later lease. */
const LEFT: Partial<Record<MachineEvent['type'], string>> = {
  'lease lost': 'lease_lost',
  'shut down': 'shut_down',
  found: 'runtime_suspended',
};

type Perform = (effect: Effect) => Promise<MachineEvent | undefined>;

/** `last`: the event that led to the step. */
type Driven = Step & { last?: MachineEvent };

async function drive(
  from: Step,
  perform: Perform,
  failed: (error: unknown) => MachineEvent,
  isOver: (state: Step['state']) => boolean,
): Promise<Driven> {
  let current: Driven = from;
  while (!isOver(current.state)) {
    const { state, effects } = current;
    if (effects.length === 0) throw new Error(`no effect in state ${state.at}`);
    let event: MachineEvent | undefined;
    try {
      for (const effect of effects) event = await perform(effect);
    } catch (error) {
      event = failed(error);
    }
    const last = event ?? ({ type: 'done' } as const);
    current = { ...step(state, last), last };
  }
  return current;
}

/** Includes a runtime whose start is queued. */
function runtimeState(runtime: Pick<RuntimeRow, 'phase' | 'reason' | 'address'> | undefined): RuntimeState {
  if (runtime?.phase === 'Suspended' || runtime?.reason === QUEUED) return 'suspended';
  return targetOf('', runtime) === undefined ? 'not ready' : 'ready';
}

/** @returns undefined if the runtime is not ready */
function targetOf(
  workspaceId: string,
  runtime: Pick<RuntimeRow, 'phase' | 'address'> | undefined,
): RuntimeTarget | undefined {
  if (runtime?.phase !== 'Ready' || runtime.address === null) return undefined;
  return { workspaceId, address: runtime.address };
}

function leasedTurn({ runtime, ...turn }: TurnToRun): LeasedTurn {
  return {
    status: turn.status,
    isStopRequested: turn.stop_requested,
    isUserBanned: turn.user_banned,
    isBackground: isBackground(turn),
    hasReply: turn.reply_message_id !== null,
    isFollowed: turn.next_turn_id !== null,
    hasInstance: turn.runtime_instance !== null,
    waitsUntil: turn.waits_until?.getTime() ?? 0,
    runtime: runtimeState(runtime),
    healthySince: Math.max(
      turn.created_at.getTime(),
      runtime?.identified_at?.getTime() ?? 0,
      runtime?.wanted_at.getTime() ?? 0,
    ),
  };
}

function createAttempt(deps: TurnWorkerDeps, turn: TurnToRun, job: LeasedJob, signal: AbortSignal): Attempt {
  const needed = { summary: false };
  const stops: Attempt['stops'] = {};
  const followUp = (tx: Transaction) => deps.followUps?.(turn, needed, tx) ?? Promise.resolve();
  const textSaved = ({ stopRequested }: SavedText): void => stops.poll?.known(stopRequested);
  const writer = createTurnWriter({ ...deps, followUp, textSaved }, turn, job);
  const outcome: Attempt['outcome'] = {};
  const noting: TurnWriter = {
    ...writer,
    finish(reply) {
      outcome.error = reply.errorCode;
      return writer.finish(reply);
    },
    abandon(code, ...rest) {
      outcome.error = code;
      return writer.abandon(code, ...rest);
    },
  };
  return {
    turn,
    writer: noting,
    signal,
    needed,
    outcome,
    stops,
    deadlineAt: 0,
    to: targetOf(turn.workspace_id, turn.runtime),
  };
}

/** @param saved another process's progress on this turn */
function createTurnReply(
  deps: TurnWorkerDeps,
  { turn, writer, signal }: Attempt,
  begun: Begun,
  saved: Parameters<typeof createReply>[2],
): Reply {
  const { receipts, rules, bodies, markdown, retryMs, metrics, logger } = deps;
  const live = createLiveEvents(deps.publish, turn);
  const names = new Set(deps.platformTools.map(({ name }) => name));
  const platformTools = { includes: (name: string) => names.has(name) || isServerTool(name) };
  const refused = (refusal: Refusal): void => metrics?.refused(refusal);
  const tokenFor = async (grant: McpGrant): Promise<string | undefined> =>
    (await mayUseTools(deps, turn.id)) ? deps.toolTokens(tokenTurn(turn), grant) : undefined;
  const watchAnswers: WatchAnswers = (check) => deps.turnSignals.watch(turn.id, { answer: check });
  const effects = { receipts, rules, tokenFor, watchAnswers, bodies, retryMs, contextReduced: metrics?.contextReduced };
  const streamed = { ...effects, markdown, platformTools, live, refused, signal, logger };
  return createReply({ turn, writer, ...streamed }, begun, saved);
}

/** Effects that return no event are done. */
type Effects<Do extends Effect['do']> = {
  [One in Do]: (effect: Effect & { do: One }) => Promise<MachineEvent | void>;
};

type Writes = 'merge' | 'begin' | 'check limit' | 'note limit' | 'restart' | 'postpone' | 'finish' | 'abandon';

function createEffects(deps: TurnWorkerDeps, loadRequest: LoadRequest, attempt: Attempt): Perform {
  const effects: Effects<Effect['do']> = {
    ...writeEffects(deps, attempt),
    ...runtimeEffects(deps, loadRequest, attempt),
    ...streamEffects(deps, attempt),
  };
  const of = <Do extends Effect['do']>(effect: Effect & { do: Do }) => (effects as Effects<Do>)[effect.do](effect);
  return async (effect) => (await of(effect)) ?? undefined;
}

function replyOf({ reply }: Attempt): Reply {
  if (reply === undefined) throw new Error('the turn has not begun');
  return reply;
}

/** Effects on the stored turn. */
function writeEffects(deps: TurnWorkerDeps, attempt: Attempt): Effects<Writes> {
  const { clock, logger, deadlineMs = TURN_DEADLINE_MS } = deps;
  const { turn, writer } = attempt;
  return {
    async merge() {
      const isMerged = turn.next_turn_id !== null && (await writer.merge(turn.next_turn_id));
      return { type: 'merged', isMerged };
    },

    async begin() {
      const saved = turn.status === 'running' ? await deps.progress.find(turn.id) : undefined;
      const { prepared } = attempt;
      const begun = await writer.begin(prepared && startOf(prepared));
      if (prepared !== undefined) prepared.stopRequested = begun.stopRequested;
      attempt.reply = createTurnReply(deps, attempt, begun, saved);
      const now = clock.now().getTime();
      attempt.deadlineAt = (turn.started_at?.getTime() ?? now) + deadlineMs;
      return { type: 'begun', deadlineAt: attempt.deadlineAt, now };
    },

    async 'check limit'() {
      return { type: 'limit checked', limit: await deps.limits.reached(turn.workspace_id) };
    },

    'note limit': ({ limit }) => writer.noteLimit(limit),

    async restart({ limit }) {
      const generation = await writer.nextGeneration(limit);
      turn.runtime_instance = null;
      if (generation === undefined) return { type: 'restarted', hasGeneration: false };
      logger.info({ turn: turn.id, generation }, 'the runtime lost the turn; it starts again');
      replyOf(attempt).restart(generation);
      return { type: 'restarted', hasGeneration: true };
    },

    async postpone({ waitMs }) {
      await writer.saveProgress();
      await writer.postpone(waitMs);
      logger.info({ turn: turn.id, waitMs }, 'the turn waits for the model provider');
    },

    async finish(effect) {
      const reply = replyOf(attempt);
      if (effect.as === 'failed') await reply.finish(failedReply(reply.lastText, effect.code));
      else if (effect.as === 'limited') await reply.finish(limitedReply(reply.text));
      else await reply.finish(stoppedReply(reply.lastText));
    },

    async abandon({ as, code }) {
      await writer.abandon(code, MESSAGE_ERRORS[code].message, as);
    },
  };
}

/** Effects on the runtime before and after its stream. */
function runtimeEffects(
  deps: TurnWorkerDeps,
  loadRequest: LoadRequest,
  attempt: Attempt,
): Effects<Exclude<Effect['do'], Writes | StreamEffect>> {
  const { turns, runtimes, client, clock } = deps;
  const { turn, writer, signal } = attempt;
  const retry = { ...RETRY, initialMs: deps.retryMs ?? RETRY.initialMs };
  const prepare = createTurnPreparation({ client, loadRequest });
  const now = (): number => clock.now().getTime();

  /** @returns undefined if the runtime lost the turn */
  async function load(to: RuntimeTarget): Promise<PreparedTurn | undefined> {
    const { instanceId, ...runtime } = await client.identify(to, signal);
    if (turn.runtime_instance !== null && turn.runtime_instance !== instanceId) return undefined;
    const reply = replyOf(attempt);
    // The request acknowledges all events so far.
    await reply.flush();
    return { instanceId, loaded: await loadRequest(turn, reply, { ...runtime, signal }) };
  }

  /** Forwards a stop request to the runtime, which then ends the turn. @returns false if no runtime has the turn */
  async function stopInRuntime(): Promise<boolean> {
    const to = targetOf(turn.workspace_id, await runtimes.getRuntime(deps.database, turn.workspace_id));
    if (turn.runtime_instance === null || to === undefined) return false;
    try {
      await client.stopTurn(to, { turnId: turn.id, generation: replyOf(attempt).generation }, signal);
      return true;
    } catch (error) {
      if (signal.aborted || !(error instanceof ConnectError)) throw error;
      return false;
    }
  }

  return {
    async prepare() {
      const prepared = attempt.to && (await prepare(turn, attempt.to, signal));
      attempt.prepared = prepared && { ...prepared, stopRequested: false };
      return { type: 'prepared' };
    },

    async 'check stop'() {
      signal.throwIfAborted();
      return { type: 'checked', isStopRequested: await turns.isStopRequested(deps.database, turn.id), now: now() };
    },

    async 'stop in runtime'() {
      return { type: 'stop answered', isAccepted: await stopInRuntime(), now: now() };
    },

    async 'find runtime'() {
      const runtime = await runtimes.getRuntime(deps.database, turn.workspace_id);
      attempt.to = targetOf(turn.workspace_id, runtime);
      return { type: 'found', runtime: runtimeState(runtime), events: replyOf(attempt).events, now: now() };
    },

    async connect() {
      signal.throwIfAborted();
      const { to, prepared } = attempt;
      if (to === undefined) throw new Error('the turn has no runtime');
      attempt.prepared = undefined;
      const ready = prepared ?? (await load(to));
      if (ready === undefined) return { type: 'lost' };
      const { context, requestedTools, fileProblems, needsSummary } = ready.loaded;
      const reply = replyOf(attempt);
      reply.tools = new Set([...context.agentContext.tools, ...requestedTools.map(({ name }) => name)]);
      reply.price = (provider) => deps.models.price(context.agentContext.model, provider);
      attempt.needed.summary = needsSummary;
      const isNew = turn.runtime_instance === null;
      const isStopRequested = prepared?.stopRequested ?? (isNew && (await writer.setInstance(startOf(ready))));
      turn.runtime_instance = ready.instanceId;
      // Turns that continue or repeat an answer follow one that has told the user.
      const isFirst =
        isNew && turn.resumes_message_id === null && turn.repeats_from_message_id === turn.user_message_id;
      if (isFirst && !isStopRequested && !isBackground(turn))
        for (const { file, message } of fileProblems)
          await writer.note(`file:${file.id}`, `${file.name} cannot be read. ${message}`);
      if (!isStopRequested) attempt.stream = openStream(deps, { ...attempt, reply, to }, ready.loaded);
      return { type: 'connected', isStopRequested };
    },

    async 'forget what is known'() {
      turn.known = undefined;
    },

    'make runtime due': () => deps.jobs.makeDueNow(RUNTIME_JOB, turn.workspace_id),
    sleep: ({ retries }) => sleep(backoffDelay(retry, retries), undefined, { signal }),
  };
}

type StreamEffect = 'receive' | 'stop over limit' | 'advance' | 'leave';

/** Effects while the turn is followed. */
function streamEffects({ client }: Pick<TurnWorkerDeps, 'client'>, attempt: Attempt): Effects<StreamEffect> {
  const { turn, signal } = attempt;
  const streamOf = (): TurnStream => {
    if (attempt.stream === undefined) throw new Error('the turn is not followed');
    return attempt.stream;
  };
  return {
    receive: () => streamOf().next(),

    async 'stop over limit'() {
      // The stream still reports how the turn ended and its usage.
      await client.stopTurn(streamOf().to, { turnId: turn.id, generation: replyOf(attempt).generation }, signal);
    },

    advance: ({ through }) => streamOf().advance(through),

    async leave() {
      const { stream } = attempt;
      attempt.stream = undefined;
      await stream?.close();
    },
  };
}

function failureOf(deps: TurnWorkerDeps, attempt: Attempt, error: unknown): MachineEvent {
  const { turn, signal, reply } = attempt;
  if (reply !== undefined && error instanceof JournalUnavailable)
    return { type: 'exceeded', code: 'storage_unavailable' };
  if (reply !== undefined && error instanceof ReplyLimitExceeded) {
    deps.metrics?.refused(error.refusal);
    return { type: 'exceeded', code: error.code };
  }
  if (signal.aborted) return { type: 'shut down' };
  if (error instanceof TokensReserved) return { type: 'tokens reserved' };
  if (error instanceof TokensUsed) return { type: 'tokens used', limit: error.limit };
  if (error instanceof LeaseLost) return { type: 'lease lost' };
  if (!(error instanceof ConnectError)) return { type: 'failed' };
  deps.logger.debug({ turn: turn.id, code: Code[error.code] }, 'the runtime was interrupted');
  const type = failureOfRuntime(error.code);
  if (type !== 'interrupted') return { type };
  return { type, events: reply?.events ?? 0, now: deps.clock.now().getTime() };
}
