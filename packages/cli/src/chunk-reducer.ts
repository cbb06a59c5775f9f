/** A streamed part of an agent message, the payload of `message.chunk`. */
export interface Chunk {
  generation: number;
  chunk_seq: number;
  chunk: string;
}

/** The text streamed so far: the parts of the newest generation. */
export interface StreamedText {
  readonly generation: number;
  readonly parts: ReadonlyMap<number, string>;
}

export const NOTHING_STREAMED: StreamedText = { generation: 0, parts: new Map() };

/**
 * Adds a chunk. A newer generation replaces the text; an older one is ignored. Duplicate and out-of-order
 * chunks do not change the result.
 */
export function addChunk(streamed: StreamedText, { generation, chunk_seq: seq, chunk }: Chunk): StreamedText {
  if (generation < streamed.generation) return streamed;
  if (generation > streamed.generation) return { generation, parts: new Map([[seq, chunk]]) };
  if (streamed.parts.has(seq)) return streamed;
  return { generation, parts: new Map(streamed.parts).set(seq, chunk) };
}

/** Joins the chunks in the order of `chunk_seq`. */
export function textOf({ parts }: StreamedText): string {
  return [...parts]
    .toSorted(([a], [b]) => a - b)
    .map(([, chunk]) => chunk)
    .join('');
}
