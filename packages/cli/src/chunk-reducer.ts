/** A streamed part of an agent message, the payload of `message.chunk`. */
export interface Chunk {
  generation: number;
  chunk_seq: number;
  chunk: string;
  /** If present, the text after this position is retracted. */
  offset?: number | undefined;
}

type Part = Pick<Chunk, 'chunk' | 'offset'>;

/** The text streamed so far, in the newest generation. */
export interface StreamedText {
  readonly generation: number;
  readonly parts: ReadonlyMap<number, Part>;
}

export const NOTHING_STREAMED: StreamedText = { generation: 0, parts: new Map() };

/**
 * Adds a chunk. A newer generation replaces the text; an older one is ignored. Duplicate and out-of-order
 * chunks do not change the result.
 */
export function addChunk(streamed: StreamedText, { generation, chunk_seq: seq, chunk, offset }: Chunk): StreamedText {
  const part = { chunk, offset };
  if (generation < streamed.generation) return streamed;
  if (generation > streamed.generation) return { generation, parts: new Map([[seq, part]]) };
  if (streamed.parts.has(seq)) return streamed;
  return { generation, parts: new Map(streamed.parts).set(seq, part) };
}

/** The text that an earlier chat has printed, as the beginning of a generation. */
export const printedBefore = (generation: number, text: string): StreamedText => ({
  generation,
  parts: new Map([[-1, { chunk: text, offset: 0 }]]),
});

/**
 * Joins the chunks in the order of `chunk_seq`, without retracted text. A chunk after a part that is missing is left out; the
 * message has the whole text when it is done.
 */
export function textOf({ parts }: StreamedText): string {
  return [...parts]
    .toSorted(([a], [b]) => a - b)
    .reduce(
      (text, [, { chunk, offset = text.length }]) => (offset > text.length ? text : text.slice(0, offset) + chunk),
      '',
    );
}
