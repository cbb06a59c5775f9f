import { LIMITS } from '@uswarm/contract';
import { READ_PAGE_TOOL } from '@uswarm/contract/agent-tools';
import { storable } from '@uswarm/service-kit';
import {
  Outcome,
  type Attempt,
  type Chunk,
  type Done,
  type Entry,
  type Message,
  type Request,
  type Tool,
  ToolState,
  type TurnEvent,
} from '@uswarm/runtime-proto';
import { type AnnouncedCallDeps, createAnnouncedCalls, createAnnouncedSteps } from './announced-calls.js';
import { finishedReply, limitedReply, spentTask } from './finished-reply.js';
import { type LiveEvents, createReplyStream, type ReplyStreamDeps } from './reply-stream.js';
import { isBackground } from '../background-turns.js';
import type { JournalBodies } from '../journal/journal-bodies.js';
import { MAX_ROW_BYTES } from '../journal/journal.store.js';
import type { Reply } from './reply-state.js';
import {
  createReplyParts,
  type ReplyPartsDeps,
  attemptOf,
  steeredBy,
  checkNames,
  journalEntry,
  MAX_NOTE_LENGTH,
  usageEntry,
} from './runtime-output.js';
import { createReplyProgress, createTurnActivity } from './reply-progress.js';
import { ReplyLimitExceeded } from '../content/reply-limit.js';
import { createReplyUsage, reserveWhenFree } from './reply-usage.js';
import type { SafeMarkdown } from '../content/reply-text.js';
import { createToolRequests, type ToolRequestDeps } from './tool-requests.js';
import { oneLine } from '../../records/one-line.js';
import type { AppendedEntry, EntryParts, ToolMessage } from '../journal/turn-entries.js';
import type { Progress, ReplyTexts } from './turn-progress.store.js';
import type { TurnRow } from '../turns.store.js';
import type { Ended } from '../writer/turn-ending.js';
import type { Begun, TurnWriter } from '../writer/turn-writes.js';

/** More parts than are published between two saves. */
const UNSAVED_PARTS = 10_000;
/** Limit for events that write to the database: a part can change several times. */
const MAX_STORED_EVENTS = 10 * LIMITS.replyParts;

export interface ReplyDeps extends Omit<ToolRequestDeps, 'writer' | 'live' | 'seq'>, Omit<ReplyPartsDeps, 'tools'> {
  tokenFor: AnnouncedCallDeps['tokenFor'];
  turn: TurnRow;
  writer: TurnWriter;
  live: LiveEvents;
  bodies: Pick<JournalBodies, 'put'>;
  markdown: SafeMarkdown;
  /** Called after the model server refused a larger prompt. */
  contextReduced?: ((modelId: string | null, factor: number) => void) | undefined;
  /** Aborts when the turn may no longer be written. */
  signal: AbortSignal;
}

const isAnnounced = ({ state }: Tool, barrier: boolean): boolean => barrier && state === ToolState.RUNNING;

interface ReplyPosition {
  bytes: number;
  storedEvents: number;
  markedRead: boolean;
  /** After a restore, the event number to follow from; undefined once a new event arrives. */
  replayFrom: number | undefined;
  earlierText: string;
  toolWaits: boolean;
}

/** Shared by the functions that apply events to one reply. */
interface Replying {
  deps: ReplyDeps;
  position: ReplyPosition;
  text: ReturnType<SafeMarkdown['stream']>;
  steps: ReturnType<typeof createAnnouncedSteps>;
  parts: ReturnType<typeof createReplyParts>;
  stream: ReturnType<typeof createReplyStream>;
  activity: ReturnType<typeof createTurnActivity>;
  usage: ReturnType<typeof createReplyUsage>;
  requests: Reply['requests'];
  announcedCalls: ReturnType<typeof createAnnouncedCalls>;
  progress: ReturnType<typeof createReplyProgress>;
  reply: Reply;
  end: () => void;
}

/** @param saved another process's progress on this turn */
export function createReply(deps: ReplyDeps, begun: Begun, saved?: Progress & ReplyTexts): Reply {
  const { turn, writer, live, markdown } = deps;
  const text = markdown.stream();
  const position: ReplyPosition = {
    bytes: 0,
    storedEvents: 0,
    markedRead: false,
    replayFrom: undefined,
    earlierText: '',
    toolWaits: false,
  };
  const steps = createAnnouncedSteps();

  const parts = createReplyParts({ ...deps, tools: () => reply.tools });
  const publish: ReplyStreamDeps['publish'] = (part) =>
    live.chunk({ generation: reply.generation, ...part }, reply.seq);
  const stream = createReplyStream({ turn, writer, publish }, begun.replyId);
  const activity = createTurnActivity({
    initial: begun.activity,
    store: writer.activity,
    onError: (error) => deps.logger.warn({ err: error, turn: turn.id }, 'the activity of a turn was not stored'),
  });
  const usage = createReplyUsage({ turn, writer, price: (provider) => reply.price(provider) });
  const requests = createToolRequests({ ...deps, seq: () => reply.seq });
  const announcedCalls = createAnnouncedCalls(deps);

  const reply: Reply = {
    generation: turn.generation,
    events: 0,
    get from() {
      return position.replayFrom ?? reply.events;
    },
    get text() {
      return text.text;
    },
    get lastText() {
      return text.text || position.earlierText;
    },
    seq: begun.seq,
    overLimit: undefined,
    requests,
    tools: new Set(),
    price: () => ({ modelId: null, prices: null }),
    suspended: false,
    waitMs: undefined,

    restart: (generation) => restart(replying, generation),

    async apply(event) {
      if (Number(event.number) <= reply.events) return repeat(event);
      position.replayFrom = undefined;
      const isDone = await applyNew(event);
      progress.applied();
      return isDone;
    },

    async finish(finished) {
      end();
      const errorCode = finished.errorCode === null ? null : storable(finished.errorCode);
      reply.seq = (await writer.finish({ ...finished, text: markdown.text(finished.text), errorCode })).seq;
    },

    flush: writer.flush,
    saveText: () => progress.saveSoon(),
    renewActivity: activity.renew,
    [Symbol.dispose]: end,
  };
  const progress = createReplyProgress(deps, {
    texts: () => ({ text: text.shown, received: text.received }),
    state: () => ({ generation: reply.generation, chunkSeq: stream.chunkSeq }),
    announcedStep: steps.stored,
    event: () => reply.events,
    firstUnacknowledged: () => requests.firstUnacknowledged,
  });
  const replying: Replying = {
    deps,
    position,
    text,
    steps,
    parts,
    stream,
    activity,
    usage,
    requests,
    announcedCalls,
    progress,
    reply,
    end,
  };
  const { repeat, applyNew } = createEvents(replying);
  if (saved !== undefined) restore(replying, saved);

  function end(): void {
    activity.end();
    progress.end();
    stream.flush();
  }

  return reply;
}

/** The next generation begins without the text so far. */
function restart(replying: Replying, generation: number): void {
  const { position, text, stream, steps, parts, requests, announcedCalls, progress, reply } = replying;
  position.earlierText = reply.lastText;
  position.toolWaits = false;
  Object.assign(reply, { generation, events: 0, overLimit: undefined });
  requests.restart();
  announcedCalls.takeWaiting();
  text.clear();
  stream.begin('', 0);
  position.bytes = 0;
  position.storedEvents = 0;
  steps.restore(0);
  position.replayFrom = undefined;
  progress.begin(0);
  parts.clear();
}

/** Continues after another process. */
function restore({ deps, position, text, stream, steps, progress, reply }: Replying, one: Progress & ReplyTexts): void {
  position.earlierText = one.text;
  if (one.generation !== deps.turn.generation) return;
  text.append(one.received);
  position.bytes = Buffer.byteLength(one.text);
  stream.begin(one.text, one.chunkSeq + UNSAVED_PARTS);
  reply.events = one.appliedEvent;
  steps.restore(one.announcedStep);
  position.replayFrom = one.resumeFrom;
  progress.begin(one.appliedEvent);
}

/** Applies events. */
function createEvents(replying: Replying) {
  const { showChunk, finishWith } = textEvents(replying);
  const { offer, store, applyTool, answerOf, resolve } = outputEvents(replying);
  const { execute, handOver, suspend, reserve } = callEvents(replying, applyTool);
  const { deps, position, reply, end, steps, activity, usage, requests, announcedCalls } = replying;
  const { writer } = deps;

  /** The runtime may wait for the outcome of an applied request. Everything else is stored. */
  async function repeat({ number, event, barrier }: TurnEvent): Promise<boolean> {
    if (position.replayFrom === undefined) return false;
    if (event.case === 'tool' && isAnnounced(event.value, barrier)) {
      requests.announced(event.value.callId, Number(number));
      await resolve(answerOf(event.value, number, await announcedCalls.hasUntrusted()));
    }
    if (event.case === 'request') {
      await execute(event.value, number);
      return handOver();
    }
    return event.case === 'waiting' && event.value.retryAfterMs === 0 && (await suspend());
  }

  async function applyNew({ number, event, barrier }: TurnEvent): Promise<boolean> {
    if (event.case !== 'chunk' && event.case !== 'done') countStoredEvent(replying);
    if (!position.markedRead) {
      position.markedRead = true;
      writer.markRead();
    }
    reply.events = Number(number);
    if (event.case === 'activity' && usage.waits) await writer.flush();
    // Only an activity or a tool call implies another model call; text and the last call's end cost nothing.
    if (event.case === 'activity' || event.case === 'tool') reply.overLimit = usage.reached;
    if (event.case === 'usage') usage.record(event.value, event.value.step <= steps.last);
    switch (event.case) {
      case 'activity':
        activity.show(event.value.activity);
        return false;
      case 'chunk':
        // Clients show that a tool ended before the text that follows it.
        if (position.toolWaits) await writer.flush();
        await showChunk(event.value);
        return false;
      case 'tool':
        await applyTool(event.value, number, isAnnounced(event.value, barrier));
        // The usage for this step can be stored with the call.
        reply.overLimit = usage.reached;
        return false;
      case 'message':
        await offer(event.value);
        return false;
      case 'entry':
        await store(event.value, barrier);
        // After a barrier, the turn continues with tools or with another model call.
        if (barrier) reply.overLimit = usage.reached;
        return false;
      case 'request':
        await execute(event.value, number);
        return await handOver();
      case 'waiting':
        if (event.value.retryAfterMs === 0) return await suspend();
        end();
        reply.waitMs = event.value.retryAfterMs;
        return true;
      case 'attempt':
        return await reserve(event.value);
      case 'done':
        await finishWith(event.value);
        return true;
      default:
        return false;
    }
  }

  return { repeat, applyNew };
}

function countStoredEvent({ position }: Replying): void {
  position.storedEvents += 1;
  if (position.storedEvents > MAX_STORED_EVENTS) throw new ReplyLimitExceeded('reply_too_many_parts', 'too_many_parts');
}

/** Events that change the reply's text, or end it. */
function textEvents(replying: Replying) {
  const { deps, position, reply, text, stream, progress } = replying;
  const { writer } = deps;

  async function finishWith(done: Done): Promise<void> {
    // The text's end was held back.
    const rest = text.flush();
    if (rest !== '') await show(rest);
    if (Buffer.byteLength(done.text) > LIMITS.replyBytes)
      throw new ReplyLimitExceeded('reply_too_long', 'text_too_long');
    checkNames(done.errorCode);
    if (done.contextFactor > 0) deps.contextReduced?.(reply.price('').modelId, Math.min(1, done.contextFactor));
    const finished = finishedReply(done, done.outcome === Outcome.STOPPED ? reply.lastText : reply.text);
    if (reply.overLimit === undefined || finished.turnStatus === 'done') return reply.finish(finished);
    await writer.noteLimit(reply.overLimit);
    return reply.finish(limitedReply(done.text || reply.text));
  }

  async function showChunk(chunk: Chunk): Promise<void> {
    const offset = chunk.offset === undefined ? undefined : text.retract(chunk.offset);
    if (offset !== undefined) {
      countStoredEvent(replying);
      position.bytes = Buffer.byteLength(reply.text);
    }
    if (position.bytes + Buffer.byteLength(chunk.text) > LIMITS.replyBytes)
      throw new ReplyLimitExceeded('reply_too_long', 'text_too_long');
    const added = text.append(chunk.text);
    position.bytes += Buffer.byteLength(added);
    if (added !== '' || offset !== undefined) await show(added, offset);
  }

  async function show(added: string, offset?: number): Promise<void> {
    progress.changed();
    reply.seq = (await stream.show(text.shown, added, offset)) ?? reply.seq;
  }

  return { showChunk, finishWith };
}

/** Events with entries, messages and tools. */
function outputEvents(replying: Replying) {
  const { deps, position, reply, steps, parts, stream, activity, usage, requests, announcedCalls } = replying;
  const { turn, writer, live, bodies, markdown, signal } = deps;

  async function offer(message: Message): Promise<void> {
    const offered = parts.offeredMessage(message);
    if (offered !== undefined) reply.seq = await writer.offer(offered.key, offered.content);
  }

  /**
   * Stores an entry. Without a barrier, it is stored with the event that follows it.
   *
   * @throws ReplyLimitExceeded if the entry exceeds a limit, or does not follow the stored entries
   */
  async function store(reported: Entry, barrier: boolean): Promise<void> {
    const { tool, message } = reported;
    const { body, ...entry } = journalEntry(reported);
    const size = Buffer.byteLength(body);
    // Flushes before the body is stored outside the database.
    if (size > MAX_ROW_BYTES) await writer.flush();
    const verdict = size > MAX_ROW_BYTES ? await writer.judge(reply.generation, { number: entry.number, size }) : 'new';
    if (verdict === 'known') return;
    if (verdict === 'refused') throw new ReplyLimitExceeded('runtime_output_invalid', 'entry_out_of_order');
    const produced: EntryParts = {
      usage: reported.usage && usageEntry(turn, reported.usage, reply.price),
      usageOf: reported.usage === undefined || reported.usage.step > steps.last ? 'unannounced' : 'reserved',
      tool: tool === undefined ? undefined : parts.toolLine(tool),
      message: message === undefined ? undefined : parts.offeredMessage(message),
      call: parts.recordOf(reported.call),
      steeredBy: steeredBy(reported),
    };
    const stored = await bodies.put({ turnId: turn.id, number: entry.number, body }, signal);
    const appended = (one: AppendedEntry): void => {
      position.toolWaits = false;
      if (one.verdict === 'refused') throw new ReplyLimitExceeded('runtime_output_invalid', 'entry_out_of_order');
      if (one.verdict === 'known') return;
      reply.seq = one.seq ?? reply.seq;
      if (produced.usage !== undefined) usage.reached = one.reached;
      if (produced.tool !== undefined) showTool(produced.tool, tool?.query ?? '');
    };
    const whole = { ...entry, ...stored, ...produced };
    if (barrier) appended(await writer.entry(reply.generation, whole, activity.take()));
    else {
      position.toolWaits ||= produced.tool !== undefined;
      writer.entryLater(reply.generation, whole, appended, activity.take());
    }
  }

  /** @param waits true if the runtime waits for a token */
  async function applyTool(tool: Tool, number: bigint, waits: boolean): Promise<void> {
    const line = parts.toolLine(tool);
    if (waits) requests.announced(tool.callId, Number(number));
    // The runtime waits for both the answer and the commit, so they run concurrently.
    const answer = waits ? answerOf(tool, number, await announcedCalls.hasUntrusted()) : undefined;
    // Awaited below.
    answer?.catch(() => undefined);
    // A call that waits for the user has no line, and has read nothing.
    if (answer !== undefined && tool.tool === READ_PAGE_TOOL && (await answer).resolution.waits) {
      await writer.flush();
      return resolve(answer);
    }
    if (line === undefined) await writer.flush();
    else {
      stream.flush();
      reply.seq = (await writer.tool(line, 'web')) ?? reply.seq;
      showTool(line, tool.query);
    }
    if (answer !== undefined) await resolve(answer);
  }

  function answerOf(tool: Tool, number: bigint, untrusted: boolean): ReturnType<typeof announcedCalls.answer> {
    const offered = reply.tools.has(tool.tool) && !deps.platformTools.includes(tool.tool);
    return announcedCalls.answer(tool, { offered, untrusted, number });
  }

  async function resolve(answer: ReturnType<typeof announcedCalls.answer>): Promise<void> {
    const { resolution, seq } = await answer;
    requests.resolutions.push(resolution);
    reply.seq = seq ?? reply.seq;
  }

  function showTool({ content: { tool, state } }: ToolMessage, query: string): void {
    const shownQuery = query === '' ? {} : { query: markdown.text(oneLine(query.slice(0, MAX_NOTE_LENGTH))) };
    live.tool({ tool, running: state === 'running', failed: state === 'failed', ...shownQuery }, reply.seq);
  }

  return { offer, store, applyTool, answerOf, resolve };
}

/** Events that wait for the orchestrator. */
function callEvents(replying: Replying, applyTool: ReturnType<typeof outputEvents>['applyTool']) {
  const { deps, reply, end, steps, parts, activity, requests, announcedCalls } = replying;
  const { turn, writer, signal } = deps;

  /** @throws ReplyLimitExceeded: see ToolRequests */
  async function execute(request: Request, number: bigint): Promise<void> {
    checkNames(request.callId, request.tool);
    parts.countPart(`tool:${request.callId}`);
    reply.seq = (await requests.execute(request, Number(number))) ?? reply.seq;
  }

  /** @returns true if another agent answers instead */
  async function handOver(): Promise<boolean> {
    const { recipient } = requests;
    if (recipient === undefined) return false;
    finishEarly(await writer.handOver(reply.text, recipient));
    return true;
  }

  /** The runtime continues and must be stopped. */
  function finishEarly({ seq }: Ended): void {
    end();
    reply.seq = seq;
    reply.suspended = true;
  }

  /**
   * Ends the reply while requests wait for the user or for other agents.
   *
   * @returns false if all requests were decided meanwhile
   */
  async function suspend(): Promise<boolean> {
    const waitingCalls = () => [...requests.waitingCalls, ...announcedCalls.waitingCalls];
    while (waitingCalls().length > 0 && !requests.aborted) {
      const ended = await writer.suspend(reply.text, waitingCalls());
      if (ended !== undefined) {
        finishEarly(ended);
        return true;
      }
      reply.seq = (await requests.retry()) ?? reply.seq;
      for (const { call, number } of announcedCalls.takeWaiting()) await applyTool(call, number, true);
    }
    return false;
  }

  /** @returns true if the turn has ended because the tokens do not fit into its budget */
  async function reserve(value: Attempt): Promise<boolean> {
    const attempt = attemptOf(turn, value, reply.price);
    if (attempt.step <= steps.last && !value.metered)
      throw new ReplyLimitExceeded('runtime_output_invalid', 'usage_out_of_range');
    if (!value.metered) steps.begin(attempt.step);
    const reserved = await reserveWhenFree(() => writer.reserve(attempt, value.metered, activity.take()), {
      isAborted: () => requests.aborted,
      signal,
      everyMs: deps.retryMs,
    });
    steps.end(reserved === 'reserved');
    if (reserved === 'reserved') return false;
    if (reserved !== 'budget_reached') {
      if (reserved !== 'busy') reply.overLimit = reserved;
      // Not committed: a runtime that is followed again must not send the request.
      reply.events -= 1;
      return false;
    }
    if (isBackground(turn)) {
      reply.suspended = true;
      await reply.finish(spentTask(reply.text));
    } else finishEarly(await writer.askForTokens(reply.text));
    return true;
  }

  return { execute, handOver, suspend, reserve };
}
