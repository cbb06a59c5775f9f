import type { StreamState } from '@uswarm/contract';

/** A streamed part: the text becomes its first `offset` units and `chunk`. */
export interface StreamChunk {
  message_id: string;
  conversation_id: string;
  agent_id: string;
  generation: number;
  chunk_seq: number;
  /** Absent in release 0.2: appends to the text. */
  offset?: number;
  chunk: string;
  turn_id?: string | undefined;
  in_reply_to?: string | undefined;
}

export type NextChunk = StreamChunk & { offset: number };

/** The text that an agent writes. */
interface Stream {
  messageId: string;
  conversationId: string;
  agentId: string;
  answer: Pick<StreamState, 'turn_id' | 'in_reply_to'>;
  generation: number;
  /** The last applied chunk. */
  chunkSeq: number;
  /** A prefix of this generation's text that has no hole. */
  text: string;
  /** Sent only after this sequence. */
  afterSeq: number;
  /** True if chunks are missing. */
  incomplete: boolean;
  /** Set if the stream may have ended: a chunk that was published after this sequence shows that it has not. */
  doubtfulSince: number | undefined;
  /** Number of times that the orchestrator did not know the stream while it was doubtful. */
  unknown: number;
  /** Chunks after a missing one. */
  waiting: StreamChunk[];
  /** Where later chunks removed text; increasing in both fields. */
  retractions: { chunkSeq: number; offset: number }[];
}

/** A client's part of a stream. */
export interface ReceivedText {
  generation: number;
  chunkSeq: number;
  length: number;
}

const STREAMS = 64;
const FINISHED = 256;
const DOUBTS = 64;
const WAITING_CHUNKS = 256;
/** An orchestrator that runs a turn saves its text when it is asked for it, and has it soon afterwards. */
const UNKNOWN = 3;

/** The texts that agents write in a workspace. A text never contains a part whose beginning is missing. */
export class StreamTexts {
  /** Allocated by the first text, because most workspaces are idle. */
  #streams: Map<string, Stream> | undefined;
  /** Messages and conversations. A chunk can arrive after the end of its stream. */
  #finished: Map<string, true> | undefined;
  /** Messages whose stream may have ended at this sequence. */
  #doubts: Map<string, number> | undefined;
  /** Each stream may have ended up to this sequence. */
  #unseenTo = 0;

  /** @returns whether a text changed */
  apply(chunk: StreamChunk, afterSeq: number): boolean {
    const stream = this.#streamOf(chunk);
    if (stream === undefined || chunk.chunk_seq <= stream.chunkSeq) return false;
    stream.afterSeq = Math.max(stream.afterSeq, afterSeq);
    confirm(stream, afterSeq);
    if (!isNext(stream, chunk)) {
      stream.incomplete = true;
      stream.waiting.push(chunk);
      if (stream.waiting.length > WAITING_CHUNKS) stream.waiting.shift();
      return false;
    }
    append(stream, chunk);
    stream.incomplete = false;
    stream.waiting = [];
    return true;
  }

  /** Applies the orchestrator's text of a running stream. @returns true if there is more to send */
  restore(state: StreamState, afterSeq: number): boolean {
    const stream = this.#streamOf(state);
    if (stream === undefined) return false;
    const isConfirmed = confirm(stream, afterSeq);
    if (state.chunk_seq <= stream.chunkSeq) return isConfirmed;
    const offset = commonPrefix(stream.text, state.text);
    append(stream, { ...state, offset, chunk: state.text.slice(offset) });
    stream.afterSeq = Math.max(stream.afterSeq, afterSeq);
    stream.incomplete = false;
    const { waiting } = stream;
    stream.waiting = [];
    for (const chunk of waiting) this.apply(chunk, afterSeq);
    return true;
  }

  /** The stream may have ended at `seq`. Its text is not sent until a later chunk or `restore` shows that it has not. */
  doubt(messageId: string, seq: number): void {
    const stream = this.#streams?.get(messageId);
    if (stream !== undefined) stream.doubtfulSince = seq;
    this.#doubts ??= new Map();
    remember(this.#doubts, messageId, seq, DOUBTS);
  }

  /** Each stream may have ended up to `seq`, because the events before it are unknown, except after a later chunk. */
  doubtAll(seq: number): void {
    this.#unseenTo = seq;
    for (const stream of this.#streams?.values() ?? []) {
      if (stream.afterSeq < seq) stream.doubtfulSince = Math.max(stream.doubtfulSince ?? 0, seq);
    }
  }

  /** Removes doubtful streams that the orchestrator does not know: it was asked some times, and has read the log up to `seq`. */
  dropUnknown(known: ReadonlySet<string>, seq: number): void {
    for (const stream of this.#streams?.values() ?? []) {
      if (stream.doubtfulSince === undefined || stream.doubtfulSince > seq || known.has(stream.messageId)) continue;
      stream.unknown += 1;
      if (stream.unknown >= UNKNOWN) this.#streams?.delete(stream.messageId);
    }
  }

  /** Later chunks of this message are ignored. */
  end(messageId: string): void {
    this.#streams?.delete(messageId);
    this.#finish(messageId);
  }

  /** Later chunks in this conversation are ignored. */
  endConversation(conversationId: string): void {
    for (const stream of this.#streams?.values() ?? [])
      if (stream.conversationId === conversationId) this.#streams?.delete(stream.messageId);
    this.#finish(conversationId);
  }

  /** Forgets everything: in another history, a message that has ended can continue. */
  clear(): void {
    this.#streams = undefined;
    this.#finished = undefined;
    this.#doubts = undefined;
  }

  /** True if the orchestrator may have more text. */
  get incomplete(): boolean {
    for (const { incomplete, doubtfulSince } of this.#streams?.values() ?? []) {
      if (incomplete || doubtfulSince !== undefined) return true;
    }
    return false;
  }

  get size(): number {
    return this.#streams?.size ?? 0;
  }

  has(messageId: string): boolean {
    return this.#streams?.has(messageId) === true;
  }

  ids(): Iterable<string> {
    return this.#streams?.keys() ?? [];
  }

  /** The texts that a client at this position can have. */
  states(position: number): StreamState[] {
    return [...(this.#streams?.values() ?? [])]
      .filter((stream) => isSendable(stream, position))
      .map(({ messageId, conversationId, agentId, answer, generation, chunkSeq, text }) => ({
        message_id: messageId,
        conversation_id: conversationId,
        agent_id: agentId,
        generation,
        chunk_seq: chunkSeq,
        text,
        ...answer,
      }));
  }

  /** The chunk that completes what a client at this position has; undefined if it needs none. */
  next(messageId: string, position: number, received: ReceivedText | undefined): NextChunk | undefined {
    const stream = this.#streams?.get(messageId);
    if (stream === undefined || !isSendable(stream, position)) return undefined;
    const same = received?.generation === stream.generation ? received : undefined;
    if (same !== undefined && same.chunkSeq >= stream.chunkSeq) return undefined;
    const offset = same === undefined ? 0 : Math.min(same.length, retractedTo(stream, same.chunkSeq));
    // A new generation without text removes the previous one's text.
    const had = same?.length ?? received?.length ?? 0;
    if (offset === stream.text.length && had === offset) return undefined;
    return {
      message_id: messageId,
      conversation_id: stream.conversationId,
      agent_id: stream.agentId,
      chunk: stream.text.slice(offset),
      chunk_seq: stream.chunkSeq,
      generation: stream.generation,
      offset,
      ...stream.answer,
    };
  }

  #doubtOf(messageId: string): number {
    return Math.max(this.#unseenTo, this.#doubts?.get(messageId) ?? 0);
  }

  #finish(id: string): void {
    this.#finished ??= new Map();
    remember(this.#finished, id, true, FINISHED);
  }

  /** Undefined for a finished message or conversation, and for an earlier generation. */
  #streamOf(part: Omit<StreamChunk, 'chunk' | 'offset'>): Stream | undefined {
    if (this.#finished?.has(part.message_id) === true || this.#finished?.has(part.conversation_id) === true)
      return undefined;
    const existing = this.#streams?.get(part.message_id);
    if (existing !== undefined && part.generation < existing.generation) return undefined;
    if (existing?.generation === part.generation) return existing;
    const stream: Stream = {
      messageId: part.message_id,
      conversationId: part.conversation_id,
      agentId: part.agent_id,
      answer: answerOf(part),
      generation: part.generation,
      chunkSeq: 0,
      text: '',
      afterSeq: existing?.afterSeq ?? 0,
      incomplete: false,
      doubtfulSince: existing === undefined ? this.#doubtOf(part.message_id) : existing.doubtfulSince,
      unknown: 0,
      waiting: [],
      retractions: [],
    };
    this.#streams ??= new Map();
    remember(this.#streams, part.message_id, stream, STREAMS);
    return stream;
  }
}

/** Chunks of release 0.2 have neither field. */
const answerOf = ({ turn_id, in_reply_to }: Pick<StreamState, 'turn_id' | 'in_reply_to'>): Stream['answer'] => ({
  ...(turn_id === undefined ? {} : { turn_id }),
  ...(in_reply_to === undefined ? {} : { in_reply_to }),
});

/** An orchestrator that takes over a turn continues with much higher numbers, after the text that was saved. */
const TAKEOVER = 5_000;

/** A chunk that rewrites the text from its beginning needs none of the chunks before it. */
function isNext({ chunkSeq, text, retractions }: Stream, { chunk_seq, offset }: StreamChunk): boolean {
  if (offset === undefined) return chunk_seq === chunkSeq + 1;
  if (offset === 0) return true;
  // The saved text may be longer than one from which text was removed, so that an offset in it means nothing here.
  const isTakeover = chunkSeq > 0 && chunk_seq - chunkSeq > TAKEOVER && retractions.length === 0;
  return (chunk_seq === chunkSeq + 1 || isTakeover) && offset <= text.length;
}

const isSendable = ({ chunkSeq, afterSeq, doubtfulSince }: Stream, position: number): boolean =>
  chunkSeq > 0 && afterSeq <= position && doubtfulSince === undefined;

/** The stream was running at `seq`. @returns whether this was in doubt */
function confirm(stream: Stream, seq: number): boolean {
  if (stream.doubtfulSince === undefined || seq < stream.doubtfulSince) return false;
  stream.doubtfulSince = undefined;
  return true;
}

function append(stream: Stream, { chunk_seq, offset = stream.text.length, chunk }: StreamChunk): void {
  if (offset < stream.text.length) {
    const kept = stream.retractions.filter((earlier) => earlier.offset < offset);
    stream.retractions = [...kept, { chunkSeq: chunk_seq, offset }];
  }
  stream.text = stream.text.slice(0, offset) + chunk;
  stream.chunkSeq = chunk_seq;
}

/** Length of the text at `chunkSeq` that is still valid. */
const retractedTo = ({ retractions }: Stream, chunkSeq: number): number =>
  retractions.find((retraction) => retraction.chunkSeq > chunkSeq)?.offset ?? Infinity;

function commonPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

/** Adds an entry as the newest one and removes the oldest one above the limit. */
function remember<Value>(entries: Map<string, Value>, key: string, value: Value, limit: number): void {
  entries.delete(key);
  entries.set(key, value);
  const oldest = entries.keys().next();
  if (entries.size > limit && oldest.done !== true) entries.delete(oldest.value);
}
