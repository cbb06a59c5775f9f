import { Code, ConnectError } from '@connectrpc/connect';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { Database } from '../platform/database/database.js';
import { RENEW_TOOL_TOKEN_MS } from '../records/tool-tokens.js';
import type { RuntimeClient, RuntimeTarget } from '../runtimes/runtime-client.js';
import type { MachineEvent } from './machine.js';
import type { Reply } from './reply/reply-state.js';
import { createRuntimeSpans } from './reply/runtime-spans.js';
import { type LoadedRequest, tokenTurn, type TurnRequestDeps } from './request/load-turn-request.js';
import type { TurnSignals } from './turn-signals.js';
import type * as turnRecords from './turns.store.js';
import type { TurnRow } from './turns.store.js';

/** A stream that is silent for longer is broken: no model or tool call takes this long. */
const SILENT_MS = 5 * 60_000;
/** Can be long, because a stop is also sent to the runtime and signalled to this process. */
const STOP_POLL_MS = 15_000;
const RENEW_ACTIVITY_MS = 40_000;
/** Covers lost signals. */
const STEER_POLL_MS = 15_000;

export interface StreamDeps extends Pick<TurnRequestDeps, 'toolTokens' | 'modelTokens'> {
  database: Database;
  turns: Pick<typeof turnRecords, 'getTurn' | 'isStopRequested'>;
  client: Pick<RuntimeClient, 'runTurn' | 'stopTurn' | 'renewToolToken' | 'advance'>;
  turnSignals: Pick<TurnSignals, 'watch'>;
  /** Default: well before a tool token expires. */
  renewToolTokenMs?: number;
  /** Default: well before an activity expires. */
  renewActivityMs?: number;
  clock: Clock;
  logger: Logger;
}

export interface FollowedTurn {
  turn: TurnRow;
  reply: Reply;
  to: RuntimeTarget;
  signal: AbortSignal;
  /** Clock time in ms. */
  deadlineAt: number;
  stops: { poll?: CancellationPoller };
}

export interface TurnStream {
  to: RuntimeTarget;
  /** Applies the next event to the reply. @throws ReplyLimitExceeded @throws ConnectError */
  next(): Promise<MachineEvent>;
  /** Acknowledges stored events, and delivers call outcomes. If it fails, the next request delivers them again. */
  advance(through: number): Promise<void>;
  /** Never fails, because the turn's outcome is decided before. */
  close(): Promise<void>;
}

/** Errors of a runtime that a retry cannot change. */
const FINAL_CODES = new Set([
  Code.InvalidArgument,
  Code.OutOfRange,
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.Unimplemented,
]);

/** @returns what a runtime's error means for the turn */
export function failureOfRuntime(code: Code): 'lease lost' | 'lost' | 'refused' | 'interrupted' {
  // The runtime has a later generation, so another worker has the turn.
  if (code === Code.FailedPrecondition) return 'lease lost';
  if (code === Code.NotFound) return 'lost';
  return FINAL_CODES.has(code) ? 'refused' : 'interrupted';
}

/** A turn gets no new token if it was deleted or stopped, or if its user was banned. */
export async function mayUseTools(
  { database, turns }: Pick<StreamDeps, 'database' | 'turns'>,
  turnId: string,
): Promise<boolean> {
  const turn = await turns.getTurn(database, turnId);
  return turn !== undefined && turn.status === 'running' && !turn.stop_requested && !turn.user_banned;
}

/** Follows a turn in its runtime: watches for silence, the deadline and stops, and renews what expires meanwhile. */
export function openStream(deps: StreamDeps, followed: FollowedTurn, loaded: LoadedRequest): TurnStream {
  const { database, turns, client, clock, logger } = deps;
  const { turn, reply, to, signal } = followed;
  const { request, context, requestedTools } = loaded;
  // Ends the stream, also while it waits for an event.
  const leave = new AbortController();
  // Before the timers, because only `close` ends them.
  const events = client.runTurn(to, request, AbortSignal.any([signal, leave.signal]))[Symbol.asyncIterator]();
  const stop = new AbortController();
  reply.requests.offer({
    tools: requestedTools,
    asked: context.agentContext.askedTools,
    contextWindow: loaded.contextWindow,
    signal: AbortSignal.any([leave.signal, stop.signal]),
  });
  const spans = createRuntimeSpans({ tools: reply.tools, hasGateway: request.modelToken !== '' });
  let silence: NodeJS.Timeout | undefined;
  const deadline = setTimeout(() => leave.abort(), Math.max(0, followed.deadlineAt - clock.now().getTime()));
  const stopPoll = pollForCancellation({
    requested: () => turns.isStopRequested(database, turn.id),
    stop: () => {
      stop.abort();
      return client.stopTurn(to, { turnId: turn.id, generation: reply.generation }, signal);
    },
    everyMs: STOP_POLL_MS,
    onError: (error) => logger.debug({ err: error, turn: turn.id }, 'stop poll failed'),
  });
  followed.stops.poll = stopPoll;
  const endWatch = deps.turnSignals.watch(turn.id, { stop: stopPoll.check, text: reply.saveText });
  const endSteering = followSteering(deps, followed, loaded, leave.signal);
  const endActivity = renewPeriodically({
    renew: () => reply.renewActivity(),
    everyMs: deps.renewActivityMs ?? RENEW_ACTIVITY_MS,
    onError: (error) => logger.debug({ err: error, turn: turn.id }, 'the activity was not renewed'),
  });
  const endRenewals =
    request.toolToken === '' && request.modelToken === '' ? () => undefined : renewTokens(deps, followed);
  const now = (): number => clock.now().getTime();

  return {
    to,

    async next() {
      // While an event is applied, the runtime waits: a call can ask the user.
      silence = setTimeout(() => leave.abort(), SILENT_MS);
      const received = await events.next().finally(() => clearTimeout(silence));
      if (received.done === true) return { type: 'interrupted', events: reply.events, now: now() };
      const event = received.value;
      if (event.number > reply.events) spans.see(event);
      if (await reply.apply(event)) {
        if (reply.waitMs !== undefined) return { type: 'postponed', waitMs: reply.waitMs, now: now() };
        return { type: reply.suspended ? 'suspended' : 'completed' };
      }
      const waits = event.barrier || reply.requests.resolutions.length > 0;
      return {
        type: 'applied',
        // A repeated event precedes the applied ones.
        waitsFor: waits ? Math.max(Number(event.number), reply.events) : undefined,
        isAttempt: event.event.case === 'attempt',
        isStopped: reply.requests.aborted,
        isOverLimit: reply.overLimit !== undefined,
        events: reply.events,
        now: now(),
      };
    },

    async advance(through) {
      await reply.flush();
      const { generation, requests } = reply;
      const { resolutions } = requests;
      await client.advance({ turnId: turn.id, generation, committedThrough: BigInt(through), resolutions });
      requests.acknowledged();
    },

    async close() {
      try {
        await events.return?.();
      } catch (error) {
        logger.debug({ err: error, turn: turn.id }, 'the stream of a turn did not close cleanly');
      } finally {
        spans.end();
        clearTimeout(silence);
        clearTimeout(deadline);
        endWatch();
        endSteering();
        stopPoll.end();
        endActivity();
        endRenewals();
        leave.abort();
      }
    },
  };
}

/** Sends new messages that steer the turn to its runtime. */
function followSteering(
  deps: StreamDeps,
  { turn, reply }: FollowedTurn,
  { request, steering }: LoadedRequest,
  signal: AbortSignal,
): () => void {
  const { client, logger } = deps;
  if (steering === undefined) return () => undefined;
  const sent = new Set(request.steering.map(({ id }) => id));
  async function send(): Promise<void> {
    const messages = (await steering?.(sent, signal)) ?? [];
    if (messages.length === 0) return;
    const turnInRuntime = { turnId: turn.id, generation: reply.generation };
    await client.advance({ ...turnInRuntime, committedThrough: 0n, resolutions: [], steering: messages });
    for (const { id } of messages) sent.add(id);
  }
  const { run, end } = repeatOnDemand({
    run: send,
    everyMs: STEER_POLL_MS,
    // The message gets a separate reply.
    onError: (error) => logger.debug({ err: error, turn: turn.id }, 'a turn was not steered'),
  });
  const endWatch = deps.turnSignals.watch(turn.conversation_id, { steer: run });
  return () => {
    endWatch();
    end();
  };
}

interface Repeated {
  run: () => Promise<void>;
  everyMs: number;
  onError: (error: unknown) => void;
}

/** Runs periodically and on request, one at a time: a request during a run leads to another one, a tick does not. */
function repeatOnDemand({ run, everyMs, onError }: Repeated) {
  let running = false;
  let requested = false;
  async function repeat(): Promise<void> {
    running = true;
    do {
      requested = false;
      await run().catch(onError);
    } while (requested);
    running = false;
  }
  const tick = (): void => void (running || repeat());
  const timer = setInterval(tick, everyMs);
  return {
    run(): void {
      requested = true;
      tick();
    },
    end(): void {
      requested = false;
      clearInterval(timer);
    },
  };
}

function renewTokens(deps: StreamDeps, { turn, reply, to, signal }: FollowedTurn): () => void {
  const { client, logger } = deps;
  async function renew(): Promise<void> {
    const toolToken = await deps.toolTokens(tokenTurn(turn));
    const modelToken = await deps.modelTokens({ ...tokenTurn(turn), purpose: 'turn' });
    await client.renewToolToken(to, { turnId: turn.id, generation: reply.generation, toolToken, modelToken }, signal);
  }
  return renewPeriodically({
    allowed: () => mayUseTools(deps, turn.id),
    renew,
    everyMs: deps.renewToolTokenMs ?? RENEW_TOOL_TOKEN_MS,
    onError: (error) => logger.debug({ err: error, turn: turn.id }, 'a tool token was not renewed'),
  });
}

export interface RenewalOptions extends Omit<Repeated, 'run'> {
  /** Checked before each renewal. Default: always. */
  allowed?: () => Promise<boolean>;
  renew: () => Promise<void>;
}

/**
 * Repeats until the returned function is called. A failed renewal is tried again after `everyMs`; a release 0.2 runtime
 * that does not implement the call is not called again.
 */
export function renewPeriodically({ allowed, renew, everyMs, onError }: RenewalOptions): () => void {
  const { end } = repeatOnDemand({
    async run() {
      if ((await allowed?.()) ?? true) await renew();
    },
    everyMs,
    onError(error) {
      if (error instanceof ConnectError && error.code === Code.Unimplemented) end();
      onError(error);
    },
  });
  return end;
}

export interface CancellationPollerOptions {
  requested: () => Promise<boolean>;
  /** Called after a stop request, again until it succeeds. */
  stop: () => Promise<void>;
  everyMs: number;
  onError: (error: unknown) => void;
}

export interface CancellationPoller {
  check(): void;
  /** Reports what another statement has just read. Without a stop request, the next poll can wait. */
  known(isRequested: boolean): void;
  end(): void;
}

/** Shorter than the poll interval, because the runtime may not have received the stop. */
const RETRY_MS = 1_000;

/** Polls for a stop request until one is handled. This covers lost signals and lost runtime notifications. */
export function pollForCancellation({
  requested,
  stop,
  everyMs,
  onError,
}: CancellationPollerOptions): CancellationPoller {
  let polling = false;
  let hasEnded = false;
  let retry: NodeJS.Timeout | undefined;
  async function poll(): Promise<void> {
    if (!(await requested())) return;
    await stop();
    end();
  }
  function end(): void {
    hasEnded = true;
    clearInterval(timer);
    clearTimeout(retry);
  }
  function failed(error: unknown): void {
    onError(error);
    clearTimeout(retry);
    if (!hasEnded) retry = setTimeout(check, RETRY_MS);
  }
  function check(): void {
    if (polling) return;
    polling = true;
    poll()
      .catch(failed)
      .finally(() => (polling = false));
  }
  const timer = setInterval(check, everyMs);
  return {
    check,
    known(isRequested) {
      if (hasEnded) return;
      if (isRequested) check();
      else timer.refresh();
    },
    end,
  };
}
