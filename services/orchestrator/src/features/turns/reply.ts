import { LIMITS, MESSAGE_ERRORS } from '@uswarm/contract';
import {
  Outcome,
  type Attempt,
  type Chunk,
  type Done,
  type Entry,
  type Message,
  type Request,
  type Tool,
  type TurnEvent,
  type Usage,
} from '@uswarm/runtime-proto';
import type { LiveEvents } from './live-events.js';
import type { LimitReached } from '../usage/usage-limits.js';
import { isBackground } from './background-turns.js';
import { type OfferedContent, offeredContent, storable } from './agent-content-schema.js';
import type { JournalBodies } from './journal-bodies.js';
import { MAX_ROW_BYTES } from './journal.store.js';
import { type Refusal, ReplyLimitExceeded } from './reply-limit.js';
import {
  attemptOf,
  callRecord,
  checkNames,
  journalEntry,
  MAX_NOTE_LENGTH,
  toolMessage,
  type PriceOfCall,
  usageEntry,
} from './runtime-output.js';
import type { SafeMarkdown } from './reply-text.js';
import { createToolRequests, type ToolRequestDeps, type ToolRequests } from './tool-requests.js';
import { createTurnActivity } from './turn-activity.js';
import { limitedReply, limitNote, TOKEN_LIMIT_REACHED } from './turn-limit.js';
import type { EntryParts, ToolMessage } from './turn-entries.js';
import type { TurnRow } from './turns.store.js';
import type { Ended, FinishedReply } from './turn-ending.js';
import type { TurnWriter } from './turn-writer.js';

/** Maximum number of events that write to the database: a part can change several times. */
const MAX_STORED_EVENTS = 10 * LIMITS.replyParts;

export interface ReplyDeps {
  turn: TurnRow;
  writer: TurnWriter;
  receipts: ToolRequestDeps['receipts'];
  rules: ToolRequestDeps['rules'];
  live: LiveEvents;
  bodies: Pick<JournalBodies, 'put'>;
  markdown: SafeMarkdown;
  /** Counts output of the runtime that was refused, although the turn continues. */
  refused: (refusal: Refusal) => void;
  /** Aborts when the turn may no longer be written. */
  signal: AbortSignal;
  logger: ToolRequestDeps['logger'];
  /** Names of the tools that the orchestrator executes. It shows their calls itself. */
  platformTools: readonly string[];
  retryMs?: ToolRequestDeps['retryMs'];
}

/** The state of a reply while the runtime streams it. */
export interface Reply {
  generation: number;
  /** The number of applied events of this generation. */
  events: number;
  /** The text as users see it. */
  readonly text: string;
  /** The sequence of the last durable event of the turn. Clients process ephemeral events after it. */
  seq: number;
  /** Set once the token limit is reached while the runtime continues. */
  overLimit: LimitReached | undefined;
  requests: ToolRequests;
  /** Names of the tools that the runtime may report calls of. */
  tools: Pick<ReadonlySet<string>, 'has'>;
  /** By the model of the agent, which is a setting of the turn. Set with the tools. */
  price: PriceOfCall;
  /** Whether the runtime has a token for calls of tools. */
  callsTools: boolean;
  /** Whether the runtime has announced such a call. It is stored that the conversation has content of others. */
  announcedCall: boolean;
  /** Whether the turn has ended although its runtime continues: it waits, or another agent answers. */
  suspended: boolean;
  /** Milliseconds for which the model provider asks to wait. Set if the turn must be postponed. */
  waitMs: number | undefined;
  /** Discards the output of an earlier generation. */
  restart(generation: number): void;
  /**
   * Applies the next event.
   *
   * @returns true once the turn is finished or must be postponed
   * @throws ReplyLimitExceeded
   */
  apply(event: TurnEvent): Promise<boolean>;
  finish(reply: FinishedReply): Promise<void>;
  /** Stores the current activity again, before it no longer counts. */
  renewActivity(): Promise<void>;
}

export function createReply(deps: ReplyDeps, begun: { replyId: string; seq: number }): Reply {
  const { turn, writer, live, bodies, markdown, refused, signal } = deps;
  const text = markdown.stream();
  let chunkSeq = 0;
  let bytes = 0;
  let storedEvents = 0;
  const parts = new Set<string>();
  let markedRead = false;
  let reached: LimitReached | undefined;
  /** The step of the last announced model call. */
  let announced = 0;

  const activity = createTurnActivity({
    store: writer.activity,
    onError: (error) => deps.logger.warn({ err: error, turn: turn.id }, 'the activity of a turn was not stored'),
  });
  const requests = createToolRequests({ ...deps, seq: () => reply.seq });

  const reply: Reply = {
    generation: turn.generation,
    events: 0,
    get text() {
      return text.text;
    },
    seq: begun.seq,
    overLimit: undefined,
    requests,
    tools: new Set(),
    price: () => ({ modelId: null, prices: null }),
    callsTools: false,
    announcedCall: false,
    suspended: false,
    waitMs: undefined,

    restart(generation) {
      Object.assign(reply, { generation, events: 0, overLimit: undefined });
      requests.restart();
      chunkSeq = 0;
      text.clear();
      bytes = 0;
      storedEvents = 0;
      announced = 0;
      parts.clear();
    },

    async apply({ number, event, barrier }) {
      if (Number(number) <= reply.events) return false;
      if (event.case !== 'chunk' && event.case !== 'done') countStoredEvent();
      if (!markedRead) {
        markedRead = true;
        await writer.markRead();
      }
      reply.events = Number(number);
      // Only an activity or a tool call implies another model call; text and end of the last call cost nothing.
      if (event.case === 'activity' || event.case === 'tool') reply.overLimit = reached;
      switch (event.case) {
        case 'activity':
          activity.show(event.value.activity);
          return false;
        case 'chunk':
          showChunk(event.value);
          return false;
        case 'tool':
          await applyTool(event.value);
          return false;
        case 'message':
          await offer(event.value);
          return false;
        case 'entry':
          await store(event.value);
          // After a barrier, the turn continues with tools or with another model call.
          if (barrier) reply.overLimit = reached;
          return false;
        case 'request':
          await execute(event.value);
          return await handOver();
        case 'waiting':
          if (event.value.retryAfterMs === 0) return await suspend();
          activity.end();
          reply.waitMs = event.value.retryAfterMs;
          return true;
        case 'attempt':
          return await reserve(event.value);
        case 'usage':
          reached = await recordUsage(event.value);
          return false;
        case 'done':
          await end(event.value);
          return true;
        default:
          return false;
      }
    },

    async finish(finished) {
      activity.end();
      const errorCode = finished.errorCode === null ? null : storable(finished.errorCode);
      reply.seq = (await writer.finish({ ...finished, text: markdown.text(finished.text), errorCode })).seq;
    },

    renewActivity: activity.renew,
  };

  function countStoredEvent(): void {
    storedEvents += 1;
    if (storedEvents > MAX_STORED_EVENTS) throw new ReplyLimitExceeded('reply_too_many_parts', 'too_many_parts');
  }

  function countPart(part: string): void {
    parts.add(part);
    if (parts.size > LIMITS.replyParts) throw new ReplyLimitExceeded('reply_too_many_parts', 'too_many_parts');
  }

  async function end(done: Done): Promise<void> {
    // The end of the text was held.
    const rest = text.flush();
    if (rest !== '') show(rest);
    if (Buffer.byteLength(done.text) > LIMITS.replyBytes)
      throw new ReplyLimitExceeded('reply_too_long', 'text_too_long');
    checkNames(done.errorCode);
    done.errorMessage = done.errorMessage.slice(0, MAX_NOTE_LENGTH);
    const finished = finishedReply(done, reply.text);
    if (reply.overLimit === undefined || finished.turnStatus === 'done') return reply.finish(finished);
    await writer.note(`${TOKEN_LIMIT_REACHED}:${reply.generation}`, limitNote(reply.overLimit));
    return reply.finish(limitedReply(done.text || reply.text));
  }

  function showChunk(chunk: Chunk): void {
    const offset = chunk.offset === undefined ? undefined : text.retract(chunk.offset);
    if (offset !== undefined) {
      countStoredEvent();
      bytes = Buffer.byteLength(reply.text);
    }
    if (bytes + Buffer.byteLength(chunk.text) > LIMITS.replyBytes)
      throw new ReplyLimitExceeded('reply_too_long', 'text_too_long');
    const added = text.append(chunk.text);
    bytes += Buffer.byteLength(added);
    if (added !== '' || offset !== undefined) show(added, offset);
  }

  function show(added: string, offset?: number): void {
    chunkSeq += 1;
    // The result of a task is for the agent that gave it.
    if (isBackground(turn)) return;
    const part = { messageId: begun.replyId, text: added, chunkSeq, generation: reply.generation };
    live.chunk(offset === undefined ? part : { ...part, offset }, reply.seq);
  }

  /** Undefined for content that clients cannot display, for example from a newer or custom runtime. */
  function offeredMessage({ key, agentId, content }: Message): { key: string; content: OfferedContent } | undefined {
    checkNames(key);
    countPart(`message:${key}`);
    if (agentId !== '' && agentId !== turn.agent_id) return void refused('other_agent');
    const offered = offeredContent(content);
    return offered === undefined ? undefined : { key: storable(key), content: offered };
  }

  async function offer(message: Message): Promise<void> {
    const offered = offeredMessage(message);
    if (offered !== undefined) reply.seq = await writer.offer(offered.key, offered.content);
  }

  /** What later turns are told about a call, as far as the runtime may report it. */
  function recordOf(call: Entry['call']): EntryParts['call'] {
    if (call === undefined || !isOffered(call.tool)) return undefined;
    const record = callRecord(call);
    if (record === undefined) refused('record_too_large');
    return record;
  }

  /** @throws ReplyLimitExceeded if the entry exceeds a limit, or does not follow the entries that are stored */
  async function store(reported: Entry): Promise<void> {
    const { usage, tool, message } = reported;
    const { body, ...entry } = journalEntry(reported);
    const outOfOrder = (): never => {
      throw new ReplyLimitExceeded('runtime_output_invalid', 'entry_out_of_order');
    };
    const size = Buffer.byteLength(body);
    // Before the body is stored outside of the database.
    const verdict = size > MAX_ROW_BYTES ? await writer.judge(reply.generation, { number: entry.number, size }) : 'new';
    if (verdict === 'known') return;
    if (verdict === 'refused') outOfOrder();
    const produced: EntryParts = {
      usage: usage === undefined ? undefined : usageEntry(turn, usage, reply.price),
      usageOf: usage === undefined || usage.step > announced ? 'unannounced' : 'reserved',
      tool: tool === undefined ? undefined : toolLine(tool),
      message: message === undefined ? undefined : offeredMessage(message),
      call: recordOf(reported.call),
    };
    const stored = await bodies.put({ turnId: turn.id, number: entry.number, body }, signal);
    const appended = await writer.entry(reply.generation, { ...entry, ...stored, ...produced }, activity.take());
    if (appended.verdict === 'refused') outOfOrder();
    if (appended.verdict === 'known') return;
    reply.seq = appended.seq ?? reply.seq;
    if (produced.usage !== undefined) reached = appended.reached;
    if (produced.tool !== undefined) showTool(produced.tool, tool?.query ?? '');
  }

  /** @throws ReplyLimitExceeded: see ToolRequests */
  async function execute(request: Request): Promise<void> {
    checkNames(request.callId, request.tool);
    countPart(`tool:${request.callId}`);
    reply.seq = (await requests.execute(request)) ?? reply.seq;
  }

  /** Ends the reply if another agent answers instead. @returns whether it has ended */
  async function handOver(): Promise<boolean> {
    const { recipient } = requests;
    if (recipient === undefined) return false;
    finishEarly(await writer.handOver(reply.text, recipient));
    return true;
  }

  /** The runtime must be stopped. */
  function finishEarly({ seq }: Ended): void {
    activity.end();
    reply.seq = seq;
    reply.suspended = true;
  }

  /** Ends the reply while requests wait for the user or for other agents. @returns false if the user has decided on all in the meantime */
  async function suspend(): Promise<boolean> {
    while (requests.waitingCalls.length > 0 && !requests.aborted) {
      const ended = await writer.suspend(reply.text, requests.waitingCalls);
      if (ended !== undefined) {
        finishEarly(ended);
        return true;
      }
      reply.seq = (await requests.retry()) ?? reply.seq;
    }
    return false;
  }

  /** Reserves the tokens of a model call. @returns whether the turn has ended because they do not fit into its budget */
  async function reserve(value: Attempt): Promise<boolean> {
    const attempt = attemptOf(turn, value, reply.price);
    if (attempt.step <= announced && !value.metered)
      throw new ReplyLimitExceeded('runtime_output_invalid', 'usage_out_of_range');
    if (!value.metered) announced = attempt.step;
    const reserved = await writer.reserve(attempt, value.metered, activity.take());
    if (reserved === 'reserved') return false;
    if (reserved !== 'budget_reached') {
      reply.overLimit = reserved;
      // Not committed: a runtime that is followed again must not send the request.
      reply.events -= 1;
      announced = attempt.step - 1;
      return false;
    }
    if (isBackground(turn)) {
      reply.suspended = true;
      await reply.finish(limitedReply(reply.text));
    } else finishEarly(await writer.askForTokens(reply.text));
    return true;
  }

  function recordUsage(usage: Usage): Promise<LimitReached | undefined> {
    const entry = usageEntry(turn, usage, reply.price);
    if (usage.refused) return writer.usage(entry, 'refused');
    return writer.usage(entry, entry.step <= announced ? 'reserved' : 'unannounced');
  }

  function isOffered(tool: string): boolean {
    if (reply.tools.has(tool)) return true;
    refused('tool_not_offered');
    return false;
  }

  /** Undefined for a tool that the agent may not use. */
  function toolLine(tool: Tool): ToolMessage | undefined {
    const line = toolMessage(tool);
    // The runtime reports tools that only the orchestrator executes if it was not offered them.
    if (deps.platformTools.includes(line.content.tool.trim())) return undefined;
    countPart(`tool:${tool.callId}`);
    return isOffered(tool.tool) ? line : undefined;
  }

  async function applyTool(tool: Tool): Promise<void> {
    const line = toolLine(tool);
    if (line === undefined) return;
    reply.seq = await writer.tool(line, 'web');
    reply.announcedCall = true;
    showTool(line, tool.query);
  }

  function showTool({ content: { tool, state } }: ToolMessage, query: string): void {
    const shownQuery = query === '' ? {} : { query: markdown.text(query.slice(0, MAX_NOTE_LENGTH)) };
    live.tool({ tool, running: state === 'running', failed: state === 'failed', ...shownQuery }, reply.seq);
  }

  return reply;
}

export const STOPPED_SENTENCE = MESSAGE_ERRORS.stopped.message;

/** The final state of a stopped reply, which keeps its text so far. Pure. */
export function stoppedReply(text: string): FinishedReply {
  const incomplete = text !== '';
  return {
    turnStatus: 'stopped',
    messageStatus: incomplete ? 'incomplete' : 'failed',
    text: incomplete ? text : STOPPED_SENTENCE,
    errorCode: null,
  };
}

/** Maps the outcome of the runtime to the final state of the turn and its message. Pure. */
export function finishedReply(done: Done, streamed: string): FinishedReply {
  const text = done.text || streamed;
  const errorCode = done.errorCode === '' ? null : done.errorCode;
  switch (done.outcome) {
    case Outcome.COMPLETED:
      return { turnStatus: 'done', messageStatus: 'delivered', text, errorCode };
    case Outcome.SILENT:
      return { turnStatus: 'done', messageStatus: 'silent', text: '', errorCode };
    case Outcome.STOPPED:
      return stoppedReply(text);
    case Outcome.INCOMPLETE:
      return { turnStatus: 'failed', messageStatus: 'incomplete', text, errorCode: errorCode ?? 'internal_error' };
    default:
      return {
        turnStatus: 'failed',
        messageStatus: 'failed',
        text: text === '' ? done.errorMessage : text,
        errorCode: errorCode ?? 'internal_error',
      };
  }
}
