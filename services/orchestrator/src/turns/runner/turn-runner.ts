import { setTimeout as sleep } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { MESSAGE_ERRORS, type MessageErrorCode } from '@uswarm/contract';
import { backoffDelay, inSpan } from '@uswarm/service-kit';
import type { Transaction } from '../../platform/database/database.js';
import type { LeasedJob } from '../../platform/jobs/job-queue.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import type { RuntimeTarget } from '../../runtimes/runtime-client.js';
import { RUNTIME_JOB } from '../../records/runtime-requests.js';
import { RENEW_TOOL_TOKEN_MS } from '../../records/tool-tokens.js';
import { JournalUnavailable } from '../journal/journal-bodies.js';
import { createLiveEvents } from '../reply/live-events.js';
import { createTurnRequestLoader, tokenTurn } from '../request/load-turn-request.js';
import { isBackground } from '../background-turns.js';
import { createTurnPreparation, type PreparedTurn, startOf } from './prepare-turn.js';
import { renewPeriodically } from './renew-periodically.js';
import { outcomeOf } from './runtime-outcome.js';
import { createRuntimeTargets, RuntimeSuspended } from './runtime-target.js';
import { READY_WITHIN_MS, waitOf } from './turn-waiting.js';
import { stoppedReply } from '../reply/finished-reply.js';
import type { Reply } from '../reply/reply-state.js';
import { createReply } from '../reply/reply.js';
import { type Refusal, ReplyLimitExceeded } from '../content/reply-limit.js';
import { type CancellationPoller, pollForCancellation } from '../cancellation/cancellation-poller.js';
import type { LimitReached } from '../../metering/usage-limits.js';
import { limitedReply, limitNote, TOKEN_LIMIT_REACHED } from '../reply/turn-limit.js';
import type { SavedText } from '../reply/turn-progress.store.js';
import { LeaseLost } from '../writer/fenced-writes.js';
import { TokensReserved, TokensUsed } from '../writer/turn-beginning.js';
import { createTurnWriter } from '../writer/turn-writer.js';
import type { TurnRunnerDeps } from './turn-runner-deps.js';
import type { Begun, TurnStart, TurnWriter } from '../writer/turn-writes.js';
import type { TurnRow } from '../turns.store.js';

/** A turn fails after this many lost generations in a row without progress. */
const GENERATIONS = 2;
/** A turn fails if its runtime is unreachable for this long. */
const REACHABLE_WITHIN_MS = 60_000;
/** A stream that is silent for longer is broken: no model or tool call takes this long. */
const SILENT_MS = 5 * 60_000;
/** A turn fails after this many internal errors. */
const FAILURES = 5;
const RETRY = { initialMs: 250, maxMs: 2_000 };
/** Delay after another process has taken the turn. */
const LOST_MS = 2_000;
/** A suspended runtime notifies when it is ready again; this covers a lost notification. */
const SUSPENDED_MS = 90_000;
/** Can be long, because a stop is also sent to the runtime and signalled to this process. */
const STOP_POLL_MS = 15_000;
const RENEW_ACTIVITY_MS = 40_000;
const DEADLINE_MS = 30 * 60_000;
/** Delay before a turn tries again to reserve tokens. */
const RESERVED_MS = 1_000;

/** `since`: when the interruption began; `events`: how many events had arrived by then. */
const NO_OUTAGE = { since: 0, events: -1 };

/** The transaction that ends a turn completes its job. */
const COMPLETED = { done: true, isCompleted: true } as const;

interface Run {
  turn: TurnRow;
  writer: TurnWriter;
  reply: Reply;
  signal: AbortSignal;
  /** True once the runtime was asked to stop. */
  stopped: boolean;
  /** Jobs that follow an answered turn. */
  needed: { summary: boolean };
  /** Clock time in ms. */
  deadlineAt: number;
  stops: { poll?: CancellationPoller };
  /** Set for a postponed turn: the delay before it continues. */
  postponedMs?: number;
}

/** `stored`: what the runtime gets, if the turn has just begun and this is already stored. */
interface Place {
  to: RuntimeTarget;
  stored: (PreparedTurn & Pick<Begun, 'stopRequested'>) | undefined;
}

const idOf = ({ turn, reply }: Run) => ({ turnId: turn.id, generation: reply.generation });

/** Runs a turn to its end, across runtime and orchestrator restarts. */
export function createTurnRunner(deps: TurnRunnerDeps) {
  const { database, turns, runtimes, client, clock, logger, deadlineMs = DEADLINE_MS } = deps;
  const { renewToolTokenMs = RENEW_TOOL_TOKEN_MS } = deps;
  const retry = { ...RETRY, initialMs: deps.retryMs ?? RETRY.initialMs };
  const loadRequest = createTurnRequestLoader(deps);
  const prepare = createTurnPreparation({ client, loadRequest });
  const target = createRuntimeTargets(database, runtimes);

  /** A turn gets no new token if it was deleted or stopped, or if its user was banned. */
  async function mayUseTools(turnId: string): Promise<boolean> {
    const turn = await turns.getTurn(database, turnId);
    return turn !== undefined && turn.status === 'running' && !turn.stop_requested && !turn.user_banned;
  }

  /** Restarts a turn that the runtime lost. @returns false if it was restarted before */
  async function restart(run: Run): Promise<boolean> {
    const { writer, reply, turn } = run;
    const generation = await writer.nextGeneration(GENERATIONS);
    turn.runtime_instance = null;
    if (generation === undefined) return false;
    logger.info({ turn: turn.id, generation }, 'the runtime lost the turn; it starts again');
    reply.restart(generation);
    run.stopped = false;
    return true;
  }

  /** Stops the turn in the runtime. The stream still reports how it ended and its usage. */
  async function stopOverLimit(run: Run, to: RuntimeTarget): Promise<void> {
    const { reply, signal } = run;
    if (reply.overLimit === undefined || run.stopped) return;
    await client.stopTurn(to, idOf(run), signal);
    run.stopped = true;
  }

  /**
   * Forwards a stop request to the runtime, which then ends the turn.
   *
   * @returns false if no runtime has the turn, so that the caller must end it
   */
  async function stopInRuntime(run: Run): Promise<boolean> {
    const { turn, signal } = run;
    const runtime = await runtimes.getRuntime(database, turn.workspace_id);
    if (turn.runtime_instance === null || runtime?.phase !== 'Ready' || runtime.address === null) return false;
    const to = { workspaceId: turn.workspace_id, address: runtime.address };
    try {
      await client.stopTurn(to, idOf(run), signal);
      return true;
    } catch (error) {
      if (signal.aborted || !(error instanceof ConnectError)) throw error;
      return false;
    }
  }

  const noteLimit = ({ turn, writer }: Pick<Run, 'turn' | 'writer'>, limit: LimitReached): Promise<void> =>
    writer.note(`${TOKEN_LIMIT_REACHED}:${turn.generation}`, limitNote(limit));

  /** @returns true if the limit is reached */
  async function limitReached(run: Run): Promise<boolean> {
    const limit = await deps.limits.reached(run.turn.workspace_id);
    if (limit !== undefined) await noteLimit(run, limit);
    return limit !== undefined;
  }

  /** @returns undefined if the runtime lost the turn */
  async function load({ turn, reply, signal }: Run, to: RuntimeTarget): Promise<PreparedTurn | undefined> {
    const { instanceId, features } = await client.identify(to, signal);
    if (turn.runtime_instance !== null && turn.runtime_instance !== instanceId) return undefined;
    // The request acknowledges all events so far.
    await reply.flush();
    return { instanceId, loaded: await loadRequest(turn, reply, { features, signal }) };
  }

  /** Follows the turn until it is done or postponed. @returns 'lost' if the turn must be restarted in the runtime */
  async function follow(run: Run, { to, stored }: Place): Promise<'done' | 'lost' | 'interrupted'> {
    const { turn, writer, reply, signal } = run;
    const ready = stored ?? (await load(run, to));
    if (ready === undefined) return 'lost';
    const { request: runRequest, context, requestedTools, needsSummary } = ready.loaded;
    reply.tools = new Set([...context.agentContext.tools, ...requestedTools.map(({ name }) => name)]);
    reply.price = (provider) => deps.models.price(context.agentContext.model, provider);
    run.needed.summary = needsSummary;
    const isNew = turn.runtime_instance === null;
    const isStopped = stored?.stopRequested ?? (isNew && (await writer.setInstance(startOf(ready))));
    turn.runtime_instance = ready.instanceId;
    // No runtime has the turn.
    if (isStopped) {
      await reply.finish(stoppedReply(reply.lastText));
      return 'done';
    }
    // Ends the stream: a stream without events would never leave the loop below.
    const leave = new AbortController();
    const stop = new AbortController();
    reply.requests.offer({
      tools: requestedTools,
      asked: context.agentContext.askedTools,
      signal: AbortSignal.any([leave.signal, stop.signal]),
    });
    const silence = setTimeout(() => leave.abort(), SILENT_MS);
    const deadline = setTimeout(() => leave.abort(), Math.max(0, run.deadlineAt - clock.now().getTime()));
    const stopPoll = pollForCancellation({
      requested: () => turns.isStopRequested(database, turn.id),
      stop: () => {
        stop.abort();
        return client.stopTurn(to, idOf(run), signal);
      },
      everyMs: STOP_POLL_MS,
      onError: (error) => logger.debug({ err: error, turn: turn.id }, 'stop poll failed'),
    });
    run.stops.poll = stopPoll;
    const endWatch = deps.turnSignals.watch(turn.id, { stop: stopPoll.check, text: reply.saveText });
    let endRenewals = (): void => undefined;
    const endActivity = renewPeriodically({
      renew: () => reply.renewActivity(),
      everyMs: deps.renewActivityMs ?? RENEW_ACTIVITY_MS,
      onError: (error) => logger.debug({ err: error, turn: turn.id }, 'the activity was not renewed'),
    });
    try {
      if (runRequest.toolToken !== '' || runRequest.modelToken !== '')
        endRenewals = renewals(run, () => sendTokens(run, to));
      const events = client.runTurn(to, runRequest, AbortSignal.any([signal, leave.signal]));
      for await (const event of events) {
        silence.refresh();
        if (await reply.apply(event)) {
          if (reply.waitMs !== undefined) await postpone(run, reply.waitMs);
          else if (reply.suspended) await stopInRuntime(run);
          return 'done';
        }
        await stopOverLimit(run, to);
        // Without tokens, the call must not be sent.
        const isDenied = event.event.case === 'attempt' && (run.stopped || reply.requests.aborted);
        const waits = event.barrier || reply.requests.resolutions.length > 0;
        // A repeated event precedes the applied ones.
        if (waits && !isDenied) await advance(run, BigInt(Math.max(Number(event.number), reply.events)));
        if (overdue(run)) return 'interrupted';
      }
      return 'interrupted';
    } finally {
      clearTimeout(silence);
      clearTimeout(deadline);
      endWatch();
      stopPoll.end();
      endActivity();
      endRenewals();
      leave.abort();
    }
  }

  /** Releases a turn whose model provider asks to wait. It fails if it would continue after its deadline. */
  async function postpone(run: Run, waitMs: number): Promise<void> {
    if (clock.now().getTime() + waitMs >= run.deadlineAt) return cutOff(run, 'model_rate_limited');
    await run.writer.saveProgress();
    await run.writer.postpone(waitMs);
    run.postponedMs = waitMs;
    logger.info({ turn: run.turn.id, waitMs }, 'the turn waits for the model provider');
    await stopInRuntime(run);
  }

  /** Lets the runtime continue. If the call fails, the next request delivers the outcomes again. */
  async function advance(run: Run, committedThrough: bigint): Promise<void> {
    const { requests } = run.reply;
    await run.reply.flush();
    await client.advance({ ...idOf(run), committedThrough, resolutions: requests.resolutions });
    requests.acknowledged();
  }

  async function sendTokens({ turn, reply, signal }: Run, to: RuntimeTarget): Promise<void> {
    const toolToken = await deps.toolTokens(tokenTurn(turn));
    const modelToken = await deps.modelTokens({ ...tokenTurn(turn), purpose: 'turn' });
    await client.renewToolToken(to, { turnId: turn.id, generation: reply.generation, toolToken, modelToken }, signal);
  }

  const renewals = ({ turn }: Run, renew: () => Promise<void>): (() => void) =>
    renewPeriodically({
      allowed: () => mayUseTools(turn.id),
      renew,
      everyMs: renewToolTokenMs,
      onError: (error) => logger.debug({ err: error, turn: turn.id }, 'a tool token was not renewed'),
    });

  const overdue = ({ deadlineAt }: Run): boolean => clock.now().getTime() >= deadlineAt;

  /** Ends a turn that exceeded a limit, and stops it in the runtime if possible. */
  async function cutOff(run: Run, errorCode: MessageErrorCode): Promise<void> {
    await stopInRuntime(run);
    await fail(run, errorCode);
  }

  async function fail({ reply }: Run, errorCode: MessageErrorCode): Promise<void> {
    const incomplete = reply.lastText !== '';
    await reply.finish({
      turnStatus: 'failed',
      messageStatus: incomplete ? 'incomplete' : 'failed',
      text: incomplete ? reply.lastText : MESSAGE_ERRORS[errorCode].message,
      errorCode,
    });
  }

  /** @param start set if the turn has just begun: `follow` finds out if it was stopped since */
  async function runToEnd(run: Run, start: Place | undefined): Promise<void> {
    const { turn, reply, signal } = run;
    let outage = NO_OUTAGE;
    let begunIn = start;
    for (let interruptions = 0; ; interruptions += 1) {
      signal.throwIfAborted();
      if (begunIn === undefined && (await turns.isStopRequested(database, turn.id)) && !(await stopInRuntime(run))) {
        return reply.finish(stoppedReply(reply.lastText));
      }
      if (overdue(run)) return cutOff(run, 'turn_deadline_exceeded');
      const to = begunIn?.to ?? (await target(turn.workspace_id));
      const stored = begunIn?.stored;
      begunIn = undefined;
      const outcome = to === undefined ? 'interrupted' : await attempt(run, { to, stored });
      if (outcome === 'done') return;
      if (outcome === 'refused') return fail(run, 'runtime_refused');
      if (outcome === 'lost') {
        if (await turns.isStopRequested(database, turn.id)) return reply.finish(stoppedReply(reply.lastText));
        if (await limitReached(run)) return reply.finish(limitedReply(reply.text));
        if (!(await restart(run))) return fail(run, 'runtime_lost');
        // A runtime has responded, and the events of the next generation are counted from 0.
        outage = NO_OUTAGE;
        turn.known = undefined;
        continue;
      }
      turn.known = undefined;
      const now = clock.now().getTime();
      if (reply.events > outage.events) {
        outage = { since: now, events: reply.events };
        interruptions = 0;
      }
      // A turn that no runtime has begun may wait as long as a queued one: its pod may be starting or terminating.
      const begun = to !== undefined || turn.runtime_instance !== null;
      if (now - outage.since > (begun ? REACHABLE_WITHIN_MS : READY_WITHIN_MS)) {
        return fail(run, 'runtime_unreachable');
      }
      // Only on the first interruption: the reconciler backs off for a runtime that crashes repeatedly.
      if (interruptions === 0) await deps.jobs.makeDueNow(RUNTIME_JOB, turn.workspace_id);
      await sleep(backoffDelay(retry, interruptions), undefined, { signal });
    }
  }

  async function attempt(run: Run, place: Place) {
    try {
      return await follow(run, place);
    } catch (error) {
      if (run.signal.aborted || !(error instanceof ConnectError)) throw error;
      logger.debug({ turn: run.turn.id, code: Code[error.code] }, 'the runtime was interrupted');
      // The runtime has a later generation.
      if (error.code === Code.FailedPrecondition) throw new LeaseLost();
      return outcomeOf(error);
    }
  }

  async function giveUp(
    writer: TurnWriter,
    errorCode: MessageErrorCode,
    status: 'failed' | 'stopped' = 'failed',
  ): Promise<JobResult> {
    await writer.abandon(errorCode, MESSAGE_ERRORS[errorCode].message, status);
    return COMPLETED;
  }

  const beginWithTokens = (
    turn: TurnRow,
    writer: TurnWriter,
    start: TurnStart | undefined,
  ): Promise<Begun | undefined> =>
    writer.begin(start).catch(async (error: unknown) => {
      if (!(error instanceof TokensUsed)) throw error;
      await noteLimit({ turn, writer }, error.limit);
      return undefined;
    });

  return async (job: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    const turn = await turns.getTurnToRun(database, job.subjectId);
    if (turn === undefined || (turn.status !== 'queued' && turn.status !== 'running')) return { done: true };
    const needed = { summary: false };
    const followUp = (tx: Transaction) => deps.followUps?.(turn, needed, tx) ?? Promise.resolve();
    const stops: Run['stops'] = {};
    const textSaved = ({ stopRequested }: SavedText): void => stops.poll?.known(stopRequested);
    const writer = createTurnWriter({ ...deps, followUp, textSaved }, turn, job);
    if (job.failures >= FAILURES) {
      return giveUp(writer, 'internal_error');
    }
    try {
      const waiting = waitOf(turn, clock);
      if (waiting === 'too late') return giveUp(writer, 'runtime_not_ready');
      if ('againInMs' in waiting) return waiting;
      // The task was stopped, or its message was deleted.
      if (isBackground(turn) && (turn.reply_message_id === null || (turn.status === 'queued' && turn.stop_requested)))
        return giveUp(writer, 'stopped', 'stopped');
      if (turn.status === 'queued' && turn.user_banned) return giveUp(writer, 'user_banned', 'stopped');
      const live = createLiveEvents(deps.publish, turn);
      const saved = turn.status === 'running' ? await deps.progress.find(turn.id) : undefined;
      // A turn that waits for other turns' tokens retries every second and skips the preparation.
      const isFirst = job.attempts === 1;
      const prepared = isFirst && waiting.to !== undefined ? await prepare(turn, waiting.to, signal) : undefined;
      const begun = await beginWithTokens(turn, writer, prepared && startOf(prepared));
      if (begun === undefined) return giveUp(writer, TOKEN_LIMIT_REACHED);
      const platformTools = deps.platformTools.map(({ name }) => name);
      const refused = (refusal: Refusal): void => deps.metrics?.refused(refusal);
      const { receipts, rules, bodies, markdown, retryMs, metrics } = deps;
      const tokenFor = async (query: string): Promise<string | undefined> =>
        (await mayUseTools(turn.id)) ? deps.toolTokens(tokenTurn(turn), query) : undefined;
      const effects = { receipts, rules, tokenFor, bodies, retryMs, contextReduced: metrics?.contextReduced };
      const streamed = { ...effects, markdown, platformTools, live, refused, signal, logger };
      using reply = createReply({ turn, writer, ...streamed }, begun, saved);
      const deadlineAt = (turn.started_at ?? clock.now()).getTime() + deadlineMs;
      const run: Run = { turn, writer, reply, signal, stopped: false, stops, needed, deadlineAt };
      const stored = prepared && { ...prepared, stopRequested: begun.stopRequested };
      const begunIn = turn.status === 'queued' && waiting.to !== undefined ? { to: waiting.to, stored } : undefined;
      await inSpan('turn', { attributes: { 'uswarm.turn': turn.id } }, () =>
        runToEnd(run, begunIn).catch((error: unknown) => {
          if (error instanceof JournalUnavailable) return cutOff(run, 'storage_unavailable');
          if (!(error instanceof ReplyLimitExceeded)) throw error;
          refused(error.refusal);
          return cutOff(run, error.code);
        }),
      );
      return run.postponedMs === undefined ? COMPLETED : { againInMs: run.postponedMs };
    } catch (error) {
      // The process is shutting down: the next lease holder continues.
      if (signal.aborted) return { againInMs: 0 };
      if (error instanceof RuntimeSuspended) return { againInMs: SUSPENDED_MS };
      if (error instanceof TokensReserved) return { againInMs: RESERVED_MS };
      // Another worker has the turn, or the runtime has a later generation.
      if (error instanceof LeaseLost) return { againInMs: LOST_MS };
      throw error;
    }
  };
}
