import type { ServerEventPayload } from '@uswarm/contract';
import type { EventEnvelope } from './sequencer.js';

export interface ChunkFilterOptions {
  /** Streamed messages, and finished ones, that are remembered; the oldest are forgotten above this number. */
  memory: number;
}

/** Returns whether to deliver an envelope. Must be called once for each, in the order of delivery. */
export type ChunkFilter = (envelope: EventEnvelope) => boolean;

/** Adds an entry as the newest one and removes the oldest one above the limit. */
function remember<Value>(entries: Map<string, Value>, key: string, value: Value, memory: number): void {
  entries.delete(key);
  entries.set(key, value);
  const oldest = entries.keys().next();
  if (entries.size > memory && oldest.done !== true) entries.delete(oldest.value);
}

/**
 * Filters streamed text: drops chunks of a superseded generation, duplicates, chunks that arrive after a later one, and
 * chunks of a message that is done or deleted.
 */
export function createChunkFilter({ memory }: ChunkFilterOptions): ChunkFilter {
  const streams = new Map<string, { generation: number; chunkSeq: number }>();
  const finished = new Map<string, true>();

  const acceptChunk = ({ message_id, generation, chunk_seq }: ServerEventPayload<'message.chunk'>): boolean => {
    if (finished.has(message_id)) return false;
    const last = streams.get(message_id);
    if (last !== undefined) {
      if (generation < last.generation) return false;
      if (generation === last.generation && chunk_seq <= last.chunkSeq) return false;
    }
    remember(streams, message_id, { generation, chunkSeq: chunk_seq }, memory);
    return true;
  };

  return ({ event, payload }) => {
    if (event === 'message.chunk') return acceptChunk(payload as ServerEventPayload<'message.chunk'>);
    if (event === 'message.done' || event === 'message.deleted') {
      const { message_id } = payload as ServerEventPayload<'message.done' | 'message.deleted'>;
      streams.delete(message_id);
      remember(finished, message_id, true, memory);
    }
    return true;
  };
}
