import type { LiveEvent } from '../../events/event-publisher.js';
import { answerFields } from '../../records/answers.js';
import type { TurnRow } from '../turns.store.js';
import type { TextPart } from './chunk-stream.js';

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
