import { LIMITS, MESSAGE_ERRORS, type MessageErrorCode } from '@uswarm/contract';
import {
  AgentActivity,
  Outcome,
  ToolState as ProtoToolState,
  type Done,
  type Message,
  type Tool,
  type TurnEvent,
} from '@uswarm/runtime-proto';
import type { AgentActivity as StoredActivity } from '../../database/schema.js';
import type { LiveEvents } from './live-events.js';
import type { LimitReached } from '../usage/usage-limits.js';
import { offeredContent, storable } from './agent-content-schema.js';
import { limitedReply, limitNote, TOKEN_LIMIT_REACHED } from './turn-limit.js';
import type { TurnRow } from './turns.store.js';
import type { FinishedReply, TurnWriter } from './turn-writer.js';

/** A runtime, which is not trusted, streamed more than a reply may have. */
export class ReplyLimitExceeded extends Error {
  override name = 'ReplyLimitExceeded';
  readonly code: MessageErrorCode;
  constructor(code: MessageErrorCode) {
    super(code);
    this.code = code;
  }
}

/** UTF-16 code units of keys, ids and names of tools, and of what is shown of a tool or an error. */
const NAME_LENGTH = 256;
const NOTE_LENGTH = 4_000;
/** Events that are stored: a part may change a few times. */
const STORED_EVENTS = 10 * LIMITS.replyParts;

/** @throws ReplyLimitExceeded */
function checkNames(...names: string[]): void {
  if (names.some((name) => name.length > NAME_LENGTH)) throw new ReplyLimitExceeded('runtime_output_invalid');
}

export interface ReplyDeps {
  turn: TurnRow;
  writer: TurnWriter;
  live: LiveEvents;
}

/** What the orchestrator knows of a reply while the runtime writes it. */
export interface Reply {
  generation: number;
  /** Events of this generation that were applied. */
  events: number;
  text: string;
  /** The last durable event of the turn: what is shown live waits for it. */
  seq: number;
  /** The tokens of the period are used up while the runtime continues. */
  overLimit: LimitReached | undefined;
  /** Discards the output of an earlier generation. */
  restart(generation: number): void;
  /** Applies the next event. @returns true once the turn is finished. @throws ReplyLimitExceeded */
  apply(event: TurnEvent): Promise<boolean>;
  finish(reply: FinishedReply): Promise<void>;
}

const ACTIVITIES: Partial<Record<AgentActivity, StoredActivity>> = {
  [AgentActivity.READING]: 'reading',
  [AgentActivity.THINKING]: 'thinking',
  [AgentActivity.WRITING]: 'writing',
  [AgentActivity.PENDING]: 'pending',
};

export function createReply(deps: ReplyDeps, begun: { replyId: string; seq: number }): Reply {
  const { turn, writer, live } = deps;
  let chunkSeq = 0;
  let bytes = 0;
  let stored = 0;
  const parts = new Set<string>();
  let read = false;
  // Taking the turn showed this already.
  let shown: StoredActivity = 'reading';
  let reached: LimitReached | undefined;

  const reply: Reply = {
    generation: turn.generation,
    events: 0,
    text: '',
    seq: begun.seq,
    overLimit: undefined,

    restart(generation) {
      Object.assign(reply, { generation, events: 0, text: '' });
      chunkSeq = 0;
      bytes = 0;
      stored = 0;
      parts.clear();
    },

    async apply({ number, event }) {
      if (Number(number) <= reply.events) return false;
      if (event.case !== 'chunk' && event.case !== 'done') countStored();
      if (!read) {
        read = true;
        await writer.markRead();
      }
      reply.events = Number(number);
      // What follows the last model call (the rest of its text, the end) costs nothing.
      if (event.case === 'activity' || event.case === 'tool') reply.overLimit = reached;
      switch (event.case) {
        case 'activity':
          await showActivity(event.value.activity);
          return false;
        case 'chunk':
          showChunk(storable(event.value.text));
          return false;
        case 'tool':
          await showTool(event.value);
          return false;
        case 'message':
          await offer(event.value);
          return false;
        case 'usage':
          reached = await writer.usage({
            turnId: turn.id,
            userId: turn.user_id,
            workspaceId: turn.workspace_id,
            step: event.value.step,
            provider: storable(event.value.provider.slice(0, NAME_LENGTH)),
            model: storable(event.value.model.slice(0, NAME_LENGTH)),
            promptTokens: Number(event.value.promptTokens),
            completionTokens: Number(event.value.completionTokens),
          });
          return false;
        case 'done':
          await end(event.value);
          return true;
        default:
          return false;
      }
    },

    async finish(finished) {
      const errorCode = finished.errorCode === null ? null : storable(finished.errorCode);
      const { seq, activity } = await writer.finish({ ...finished, text: storable(finished.text), errorCode });
      reply.seq = seq;
      if (activity !== undefined) live.status(activity, seq);
    },
  };

  function countStored(): void {
    stored += 1;
    if (stored > STORED_EVENTS) throw new ReplyLimitExceeded('reply_too_many_parts');
  }

  function countPart(part: string): void {
    parts.add(part);
    if (parts.size > LIMITS.replyParts) throw new ReplyLimitExceeded('reply_too_many_parts');
  }

  async function end(done: Done): Promise<void> {
    if (Buffer.byteLength(done.text) > LIMITS.replyBytes) throw new ReplyLimitExceeded('reply_too_long');
    checkNames(done.errorCode);
    done.errorMessage = done.errorMessage.slice(0, NOTE_LENGTH);
    const finished = finishedReply(done, reply.text);
    if (reply.overLimit === undefined || finished.turnStatus === 'done') return reply.finish(finished);
    await writer.note(`${TOKEN_LIMIT_REACHED}:${reply.generation}`, limitNote(reply.overLimit));
    return reply.finish(limitedReply(done.text || reply.text));
  }

  function showChunk(text: string): void {
    if (text === '') return;
    bytes += Buffer.byteLength(text);
    if (bytes > LIMITS.replyBytes) throw new ReplyLimitExceeded('reply_too_long');
    reply.text += text;
    chunkSeq += 1;
    live.chunk({ messageId: begun.replyId, text, chunkSeq, generation: reply.generation }, reply.seq);
  }

  async function showActivity(value: AgentActivity): Promise<void> {
    const activity = ACTIVITIES[value];
    if (activity === undefined || activity === shown) return;
    shown = activity;
    await writer.activity(activity);
    live.status(activity, reply.seq);
  }

  /** What cannot be shown is left out: a runtime that sends it is newer than we, or not ours. */
  async function offer({ key, content }: Message): Promise<void> {
    checkNames(key);
    countPart(`message:${key}`);
    const offered = offeredContent(content);
    if (offered !== undefined) reply.seq = await writer.offer(storable(key), offered);
  }

  async function showTool({ callId, tool, state, description, query }: Tool): Promise<void> {
    checkNames(callId, tool);
    countPart(`tool:${callId}`);
    const running = state === ProtoToolState.RUNNING;
    const failed = state === ProtoToolState.FAILED;
    const toolState = running ? 'running' : failed ? 'failed' : 'completed';
    reply.seq = await writer.tool(reply.generation, {
      callId: storable(callId),
      content: {
        type: 'tool_status',
        tool: storable(tool),
        description: storable(description.slice(0, NOTE_LENGTH)),
        state: toolState,
      },
    });
    live.tool(
      {
        tool: storable(tool),
        running,
        failed,
        ...(query === '' ? {} : { query: storable(query.slice(0, NOTE_LENGTH)) }),
      },
      reply.seq,
    );
  }

  return reply;
}

export const STOPPED_SENTENCE = MESSAGE_ERRORS.stopped.message;

/** The final state of a stopped reply: its text so far is kept. Pure. */
export function stoppedReply(text: string): FinishedReply {
  const incomplete = text !== '';
  return {
    turnStatus: 'stopped',
    messageStatus: incomplete ? 'incomplete' : 'failed',
    text: incomplete ? text : STOPPED_SENTENCE,
    errorCode: null,
  };
}

/** How the runtime's outcome shows in the turn and in its message. Pure. */
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
