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

/** Streams the text of a reply, once there is something to see: what the turn waits for takes the place of an empty reply. */
export interface ReplyStream {
  readonly chunkSeq: number;
  /**
   * Shows text that was added at a position. Default: the end.
   *
   * @param shown the text with it
   * @returns the seq of the reply, if it is a new one
   */
  show(shown: string, added: string, offset?: number): Promise<number | undefined>;
  /** Publishes what waits. */
  flush(): void;
  /** Begins the text of a generation, or continues it after a published part. */
  begin(shown: string, chunkSeq: number): void;
}

export function createReplyStream({ turn, writer, publish }: ReplyStreamDeps, replyId: string): ReplyStream {
  let messageId = replyId;
  const stream = createChunkStream({
    publish(part) {
      // The result of a task is for the agent that gave it.
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
      // Clients have not seen the blanks at the beginning.
      if (begun !== undefined || stream.length === 0) stream.add(shown, 0);
      else stream.add(added, offset);
      return begun?.seq;
    },
    flush: stream.flush,
    begin: (shown, chunkSeq) => stream.begin(isBlank(shown) ? 0 : shown.length, chunkSeq),
  };
}
