/** A streamed part of a reply, as `message.chunk` carries it. */
export interface Chunk {
  generation: number;
  chunk_seq: number;
  chunk: string;
}

/** What of a reply was streamed so far: the parts of its newest generation. */
export interface StreamedText {
  readonly generation: number;
  readonly parts: ReadonlyMap<number, string>;
}

export const NOTHING_STREAMED: StreamedText = { generation: 0, parts: new Map() };

/**
 * Adds a chunk. A newer generation starts the text again, an older one is ignored; chunks that come
 * twice or out of order make no difference.
 */
export function foldChunk(streamed: StreamedText, { generation, chunk_seq: seq, chunk }: Chunk): StreamedText {
  if (generation < streamed.generation) return streamed;
  if (generation > streamed.generation) return { generation, parts: new Map([[seq, chunk]]) };
  if (streamed.parts.has(seq)) return streamed;
  return { generation, parts: new Map(streamed.parts).set(seq, chunk) };
}

/** The text so far, in the order of `chunk_seq`. */
export function textOf({ parts }: StreamedText): string {
  return [...parts]
    .toSorted(([a], [b]) => a - b)
    .map(([, chunk]) => chunk)
    .join('');
}
