import { isBackground } from '../background-turns.js';
import { isBlank } from '../../records/visible-text.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnWriter } from '../writer/turn-writes.js';
import { createChunkStream, type TextPart } from './chunk-stream.js';

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
