import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import {
  AgentActivity,
  type Done,
  DoneSchema,
  type HistoryMessage,
  Outcome,
  type Resolution,
  type RunningTurn,
  RunningTurnSchema,
  type RunTurnRequest,
  type TurnEvent,
} from '@uswarm/runtime-proto';
import { type Commits, createCommits } from './commits.js';
import { createEventLog, type EventLog } from './event-log.js';
import { createFinishedTurns } from './finished-turns.js';
import { TurnAborted, TurnRefused } from './turn-end.js';
import { byteLength, doneEvent, numbered, type TurnEventBody } from './turn-events.js';

export interface TurnContext {
  /** `barrier`: the turn waits for `committed` before it continues. */
  emit(event: TurnEventBody, barrier?: boolean): void;
  /** Resolves when the orchestrator has committed all events so far. @throws the reason of `signal` */
  committed(signal: AbortSignal): Promise<void>;
  /** Outcome of this turn's tool request. @throws the reason in `signal` */
  resolution(callId: string, signal: AbortSignal): Promise<Resolution>;
  /** The answer to an announced call for which the user is asked. @throws the reason in `signal` */
  decision(callId: string, signal: AbortSignal): Promise<Resolution>;
  /** Messages that steer the turn, oldest first. */
  steering: () => readonly HistoryMessage[];
  /** Aborts with a `TurnAborted`. */
  signal: AbortSignal;
  /** The latest tool token of this turn; undefined if the orchestrator sent none. */
  toolToken: () => string | undefined;
  /** The latest token for the model gateway; undefined if the orchestrator sent none. */
  modelToken: () => string | undefined;
}

/** A turn's bearer tokens; empty if there are none. */
export interface TurnTokens {
  toolToken: string;
  modelToken: string;
}

export interface Commit {
  committedThrough: number;
  resolutions: readonly Resolution[];
  /** Default: none. */
  steering?: readonly HistoryMessage[];
}

/** Runs a turn to its end. Must settle soon after its signal aborts. */
export type AgentLoop = (request: RunTurnRequest, context: TurnContext) => Promise<Done>;

export interface TurnLimits {
  /** Concurrent turns. */
  running: number;
  /** Event bytes per turn. */
  bytesPerTurn: number;
  /** Event bytes of all finished turns, above which the oldest are removed. */
  bytesFinished: number;
  /** Milliseconds for which a finished turn is kept. */
  keepFinishedMs: number;
}

export const defaultTurnLimits: TurnLimits = {
  running: 128,
  bytesPerTurn: 1024 * 1024,
  bytesFinished: 16 * 1024 * 1024,
  keepFinishedMs: 5 * 60_000,
};

export interface TurnRegistryDeps {
  run: AgentLoop;
  limits?: TurnLimits;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
  /** Called if the runner throws, which is a bug. */
  onError: (error: unknown, turn: { turnId: string; generation: number }) => void;
}

export interface TurnRegistry {
  /**
   * Starts the turn unless it exists, and follows its events. Aborting `signal` does not stop the turn.
   * @throws TurnRefused
   */
  follow(request: RunTurnRequest, signal: AbortSignal): AsyncIterable<TurnEvent>;
  /** Stops a turn with outcome STOPPED. No effect on a finished turn. @throws TurnRefused */
  stop(turnId: string, generation: number): void;
  /** Reports that the events up to a number are committed, and tool request outcomes. @throws TurnRefused */
  advance(turnId: string, generation: number, commit: Commit): void;
  /** Replaces a turn's tokens. No effect on a finished turn. @throws TurnRefused */
  renewTokens(turnId: string, generation: number, tokens: TurnTokens): void;
  running(): RunningTurn[];
  /** Milliseconds since the last turn ended, or since startup; 0 while a turn runs. */
  idleMs(): number;
  /** True if the runtime is about to exit: it finishes running turns and starts none. */
  shuttingDown(): boolean;
  /**
   * Accepts no more turns and waits up to `graceMs` for running ones. It abandons the rest, and earlier a turn without
   * followers for `UNFOLLOWED_MS`: readers get `shutting_down` without `done`, so the caller runs the turn elsewhere.
   */
  shutDown(graceMs: number): Promise<void>;
}

/** Milliseconds in which an orchestrator that lost its connection re-attaches. After that the turn is abandoned. */
const UNFOLLOWED_MS = 3_000;
/** Milliseconds between two checks while shutting down. */
const CHECK_MS = 50;

interface Turn {
  turnId: string;
  generation: number;
  agentId: string;
  activity: AgentActivity;
  /** Empty if there is none. */
  toolToken: string;
  /** Empty if there is none. */
  modelToken: string;
  /** Whether the caller stores entries, and commits events at barriers. */
  journaled: boolean;
  log: EventLog<TurnEvent>;
  /** Bytes of the events that are kept, except events that are released when they are committed. */
  bytes: number;
  commits: Commits;
  /** By message id. */
  steering: Map<string, HistoryMessage>;
  controller: AbortController;
  ended: Promise<void>;
  followers: number;
  /** When the last follower left, by `performance.now()`. */
  leftAt: number;
}

const internalError = (): Done =>
  create(DoneSchema, {
    outcome: Outcome.FAILED,
    errorCode: 'internal_error',
    errorMessage: 'Something went wrong in the agent runtime.',
  });

/** Known messages stay as they are. */
function steer({ steering }: Turn, messages: readonly HistoryMessage[]): void {
  for (const message of messages) if (!steering.has(message.id)) steering.set(message.id, message);
}

/** Empty tokens change nothing. */
function renew(turn: Turn, { toolToken, modelToken }: TurnTokens): void {
  if (toolToken !== '') turn.toolToken = toolToken;
  if (modelToken !== '') turn.modelToken = modelToken;
}

/** Releases an event's large fields when no orchestrator needs them any more. */
function releaseLater({ number, event }: TurnEvent, commits: Commits): void {
  if (event.case === 'entry') {
    const { value } = event;
    commits.onCommit(number, () => {
      value.body = '';
      delete value.message;
      delete value.call;
    });
  }
  // A request that waits for the user is executed later, possibly by another orchestrator.
  if (event.case === 'request') commits.onResolved(event.value.callId, () => void (event.value.arguments = ''));
}

/** Appends unless the turn has ended. An event above the limit is dropped and aborts the turn. */
function emitInto(turn: Turn, event: TurnEventBody, maxBytes: number, barrier = false): void {
  const isDone = event.case === 'done';
  if (turn.log.closed) return;
  const entry = numbered(turn.log.length + 1, event, barrier);
  // The size of entries and requests is limited by the journal.
  const bytes = event.case === 'entry' || event.case === 'request' ? 0 : byteLength(entry);
  if (!isDone && turn.bytes + bytes > maxBytes) {
    turn.controller.abort(new TurnAborted('too_long'));
    return;
  }
  turn.bytes += bytes;
  turn.log.append(entry);
  releaseLater(entry, turn.commits);
  if (event.case === 'activity') turn.activity = event.value.activity;
}

/** Running and recently finished turns in a runtime process. */
export function createTurnRegistry(deps: TurnRegistryDeps): TurnRegistry {
  const { run, onError, limits = defaultTurnLimits, now = () => performance.now() } = deps;
  const turns = new Map<string, Turn>();
  const running = new Set<Turn>();
  const finished = createFinishedTurns<Turn>({
    maxBytes: limits.bytesFinished,
    keepMs: limits.keepFinishedMs,
    onForget: drop,
  });
  let lastActive = now();
  let shuttingDown = false;

  function drop(turn: Turn): void {
    if (turns.get(turn.turnId) === turn) turns.delete(turn.turnId);
  }

  /** Ends a turn for its readers, once. */
  function settle(turn: Turn, end: Done | TurnRefused): void {
    if (!running.delete(turn)) return;
    lastActive = now();
    turn.steering.clear();
    if (end instanceof TurnRefused) {
      turn.log.close(end);
      turn.controller.abort(new TurnAborted('lost'));
      drop(turn);
      return;
    }
    emitInto(turn, doneEvent(end), limits.bytesPerTurn);
    turn.log.close();
    finished.keep(turn);
  }

  function start(request: RunTurnRequest): Turn {
    if (running.size >= limits.running) throw new TurnRefused('too_many_turns');
    const controller = new AbortController();
    const turn: Turn = {
      turnId: request.turnId,
      generation: request.generation,
      agentId: request.agent?.id ?? '',
      activity: AgentActivity.UNSPECIFIED,
      toolToken: request.toolToken,
      modelToken: request.modelToken,
      journaled: request.journaled,
      log: createEventLog(),
      bytes: 0,
      commits: createCommits(),
      steering: new Map(request.steering.map((message) => [message.id, message])),
      controller,
      ended: Promise.resolve(),
      followers: 0,
      leftAt: performance.now(),
    };
    turns.set(turn.turnId, turn);
    running.add(turn);
    const context: TurnContext = {
      emit: (event, barrier) => emitInto(turn, event, limits.bytesPerTurn, barrier),
      committed: (signal) => turn.commits.reached(turn.log.length, signal),
      resolution: (callId, signal) => turn.commits.resolution(callId, signal),
      decision: (callId, signal) => turn.commits.decision(callId, signal),
      steering: () => [...turn.steering.values()],
      signal: controller.signal,
      toolToken: () => turn.toolToken || undefined,
      modelToken: () => turn.modelToken || undefined,
    };
    // On the next tick, so that the caller has the turn before it starts.
    turn.ended = Promise.resolve()
      .then(() => run(request, context))
      .catch((error: unknown) => {
        onError(error, turn);
        return internalError();
      })
      .then((done) => settle(turn, done));
    return turn;
  }

  function find(request: RunTurnRequest): Turn {
    const from = Number(request.fromEvent);
    const known = turns.get(request.turnId);
    if (known !== undefined && request.generation < known.generation) throw new TurnRefused('superseded');
    if (known !== undefined && request.generation === known.generation) {
      if (from > known.log.length) throw new TurnRefused('beyond_the_end');
      // After a rollback, an orchestrator of release 0.2 would pass no barrier. It starts the next generation.
      if (known.journaled && !request.journaled && running.has(known)) throw new TurnRefused('not_found');
      renew(known, request);
      known.commits.advance(from);
      known.commits.resolve(request.resolutions);
      steer(known, request.steering);
      return known;
    }
    if (from > 0) throw new TurnRefused('not_found');
    if (shuttingDown) throw new TurnRefused('shutting_down');
    if (known !== undefined) {
      settle(known, new TurnRefused('superseded'));
      finished.forget(known);
    }
    return start(request);
  }

  async function* read(turn: Turn, from: number, signal: AbortSignal): AsyncGenerator<TurnEvent, void> {
    turn.followers += 1;
    try {
      yield* turn.log.read(from, signal);
    } finally {
      turn.followers -= 1;
      turn.leftAt = performance.now();
    }
  }

  const isUnfollowed = ({ followers, leftAt }: Turn): boolean =>
    followers === 0 && performance.now() - leftAt >= UNFOLLOWED_MS;

  /** @throws TurnRefused */
  function turnOf(turnId: string, generation: number): Turn {
    const turn = turns.get(turnId);
    if (turn === undefined || generation > turn.generation) throw new TurnRefused('not_found');
    if (generation < turn.generation) throw new TurnRefused('superseded');
    return turn;
  }

  return {
    follow: (request, signal) => read(find(request), Number(request.fromEvent), signal),
    stop(turnId, generation) {
      const turn = turnOf(turnId, generation);
      if (running.has(turn)) turn.controller.abort(new TurnAborted('stopped'));
    },
    advance(turnId, generation, { committedThrough, resolutions, steering = [] }) {
      const turn = turnOf(turnId, generation);
      const { commits, log } = turn;
      steer(turn, steering);
      commits.advance(Math.min(committedThrough, log.length));
      commits.resolve(resolutions);
    },
    renewTokens(turnId, generation, tokens) {
      renew(turnOf(turnId, generation), tokens);
    },
    running: () =>
      Array.from(running, ({ turnId, generation, agentId, activity }) =>
        create(RunningTurnSchema, { turnId, generation, agentId, activity }),
      ),
    idleMs: () => (running.size > 0 ? 0 : now() - lastActive),
    shuttingDown: () => shuttingDown,
    async shutDown(graceMs) {
      shuttingDown = true;
      const allEnded = Promise.all(Array.from(running, ({ ended }) => ended));
      const until = performance.now() + graceMs;
      for (let left = graceMs; running.size > 0 && left > 0; left = until - performance.now()) {
        await Promise.race([allEnded, sleep(Math.min(left, CHECK_MS), undefined, { ref: false })]);
        for (const turn of running) if (isUnfollowed(turn)) settle(turn, new TurnRefused('shutting_down'));
      }
      for (const turn of running) settle(turn, new TurnRefused('shutting_down'));
    },
  };
}
