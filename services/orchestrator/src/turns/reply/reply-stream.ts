import { chunkPauseMs } from '@uswarm/service-kit';
import type { LiveEvent } from '../../events/event-publisher.js';
import { answerFields } from '../../records/answers.js';
import { isBlank } from '../../records/visible-text.js';
import { isBackground } from '../background-turns.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnWriter } from '../writer/turn-writes.js';

export interface ReplyStreamDeps {
  turn: Pick<TurnRow, 'task_depth' | 'reply_message_id'>;
  writer: Pick<TurnWriter, 'showReply'>;
  publish: (part: TextPart & { messageId: string }) => void;
}

/** Starts with the first visible text: what the turn waits for can then take the place of an empty reply. */
export interface ReplyStream {
  readonly chunkSeq: number;
  /**
   * Shows text that was added at a position. Default: the end.
   *
   * @param shown the whole text
   * @returns the seq of a new reply
   */
  show(shown: string, added: string, offset?: number): Promise<number | undefined>;
  flush(): void;
  /** Begins a generation's text, or continues it after a published part. */
  begin(shown: string, chunkSeq: number): void;
}

export function createReplyStream({ turn, writer, publish }: ReplyStreamDeps, replyId: string): ReplyStream {
  let messageId = replyId;
  const stream = createChunkStream({
    publish(part) {
      // Only the agent that gave a task gets its result.
      if (!isBackground(turn)) publish({ messageId, ...part });
    },
  });
  return {
    get chunkSeq() {
      return stream.chunkSeq;
    },
    async show(shown, added, offset) {
      if (isBlank(shown) && stream.length === 0) return undefined;
      const begun = isBackground(turn) || turn.reply_message_id !== null ? undefined : await writer.showReply();
      messageId = begun?.replyId ?? messageId;
      // Clients have not seen the leading blanks.
      if (begun !== undefined || stream.length === 0) stream.add(shown, 0);
      else stream.add(added, offset);
      return begun?.seq;
    },
    flush: stream.flush,
    begin: (shown, chunkSeq) => stream.begin(isBlank(shown) ? 0 : shown.length, chunkSeq),
  };
}

/** Ephemeral: the events are not stored. */
export interface LiveEvents {
  tool(event: { tool: string; running: boolean; query?: string; failed?: boolean }, afterSeq: number): void;
  /** The generation's text becomes `text[0..offset) + chunk`. */
  chunk(event: TextPart & { messageId: string; generation: number }, afterSeq: number): void;
}

type LiveTurn = Pick<TurnRow, 'workspace_id' | 'conversation_id' | 'agent_id' | 'usage_turn_id' | 'in_reply_to'>;

/** Does not await publishing: a slow bus must not slow down a turn. */
export function createLiveEvents(
  publish: (event: LiveEvent) => Promise<boolean>,
  { workspace_id, conversation_id, agent_id, usage_turn_id, in_reply_to }: LiveTurn,
): LiveEvents {
  const context = { workspace_id, conversation_id, agent_id, ...answerFields(usage_turn_id, in_reply_to) };
  const header = (afterSeq: number) => ({ workspace_id, after_seq: afterSeq });
  return {
    tool({ tool, running, query, failed }, afterSeq) {
      const payload = {
        ...context,
        tool,
        status: running ? ('running' as const) : ('done' as const),
        ...(query === undefined ? {} : { query }),
        ...(running ? {} : { outcome: failed === true ? ('failed' as const) : ('completed' as const) }),
      };
      void publish({ ...header(afterSeq), event: 'agent.tool', payload });
    },
    chunk({ messageId, text, chunkSeq, generation, offset }, afterSeq) {
      const payload = {
        ...context,
        message_id: messageId,
        chunk: text,
        chunk_seq: chunkSeq,
        generation,
        offset,
      };
      void publish({ ...header(afterSeq), event: 'message.chunk', payload });
    },
  };
}

/** This generation's text becomes `text[0..offset) + part`. */
export interface TextPart {
  text: string;
  /** UTF-16 code units. */
  offset: number;
  chunkSeq: number;
}

/** Publishes the first part immediately and joins later ones. */
export interface ChunkStream {
  /** Includes text that waits. */
  readonly length: number;
  readonly chunkSeq: number;
  /** Adds text at a position and voids the text after it. Default: the end. */
  add(text: string, offset?: number): void;
  flush(): void;
  /** Begins a generation's text, or continues it after a published part. */
  begin(length: number, chunkSeq: number): void;
}

export interface ChunkStreamDeps {
  publish: (part: TextPart) => void;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
  /** Runs `task` after `delayMs` unless cancelled. */
  schedule?: (task: () => void, delayMs: number) => () => void;
}

const byTimer: NonNullable<ChunkStreamDeps['schedule']> = (task, delayMs) => {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
};

export function createChunkStream({
  publish,
  now = () => performance.now(),
  schedule = byTimer,
}: ChunkStreamDeps): ChunkStream {
  let chunkSeq = 0;
  /** Unpublished text and its position. Empty text can wait after text was retracted. */
  let waiting: { text: string; offset: number } | undefined;
  let length = 0;
  let startedAt: number | undefined;
  let cancel: (() => void) | undefined;

  function send(): void {
    if (waiting === undefined) return;
    chunkSeq += 1;
    const part = { ...waiting, chunkSeq };
    waiting = undefined;
    publish(part);
  }

  function pace(): void {
    if (cancel !== undefined || waiting === undefined) return;
    startedAt ??= now();
    send();
    cancel = schedule(
      () => {
        cancel = undefined;
        pace();
      },
      chunkPauseMs(now() - startedAt),
    );
  }

  function stop(): void {
    cancel?.();
    cancel = undefined;
  }

  return {
    get length() {
      return length;
    },
    get chunkSeq() {
      return chunkSeq;
    },
    add(text, offset = length) {
      const kept = waiting === undefined || offset < waiting.offset ? undefined : waiting;
      waiting =
        kept === undefined
          ? { text, offset }
          : { text: kept.text.slice(0, offset - kept.offset) + text, offset: kept.offset };
      length = offset + text.length;
      pace();
    },
    flush() {
      send();
      stop();
    },
    begin(newLength, seq) {
      stop();
      waiting = undefined;
      startedAt = undefined;
      length = newLength;
      chunkSeq = seq;
    },
  };
}
