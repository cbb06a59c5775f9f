import { encodeFrame, type Frame } from './frame.js';
import type { HubState } from './hub-state.js';
import type { ReceivedText } from './stream-texts.js';

/** What a socket gets next: an event, an event that must be read from the log first, or nothing yet. */
export type Step = { frame: Frame } | 'read' | undefined;

export interface FeedStart {
  /** The socket has all events up to this sequence. */
  cursor: number;
  /** Set if the client resumes: `workspace.position` follows when it has all events up to this sequence. */
  announceAt: number | undefined;
  /** The streams that the client knows already. */
  received: readonly { message_id: string; generation: number; chunk_seq: number; text: string }[];
}

/**
 * The position of one socket in a hub. It has no queue: the socket pulls the next event when it can send one. Durable
 * events come first, in order; what changed beside them is sent as it is then.
 */
export class Feed {
  readonly #hub: HubState;
  #cursor: number;
  /** The last sequence that the client knows to have. */
  #announced: number;
  #announceAt: number | undefined;
  #received: Map<string, ReceivedText> | undefined;
  #statuses: number;
  #notices: number;
  #holds = 0;

  constructor(hub: HubState, { cursor, announceAt, received }: FeedStart) {
    this.#hub = hub;
    this.#cursor = cursor;
    this.#announced = cursor;
    this.#announceAt = announceAt;
    this.#statuses = hub.statuses.version;
    this.#notices = hub.notices.lastId;
    for (const { message_id, generation, chunk_seq, text } of received) {
      this.#receive(message_id, { generation, chunkSeq: chunk_seq, length: text.length });
    }
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Delays durable events until every returned function was called. */
  hold(): () => void {
    this.#holds += 1;
    let ended = false;
    return () => {
      if (!ended) this.#holds -= 1;
      ended = true;
    };
  }

  next(now: number): Step {
    return this.#nextEvent() ?? this.#position() ?? this.#status(now) ?? this.#notice() ?? this.#text();
  }

  #nextEvent(): Step {
    const { position = 0 } = this.#hub;
    while (this.#holds === 0 && this.#cursor < position) {
      const entry = this.#hub.entry(this.#cursor + 1);
      if (entry === undefined) return 'read';
      const { seq, frame, subjectId } = entry;
      // The rest of a text, before an event that may end it.
      const text = frame === undefined || subjectId === undefined ? undefined : this.#chunk(subjectId);
      if (text !== undefined) return text;
      this.#cursor = seq;
      if (frame === undefined) continue;
      this.#announced = seq;
      return { frame };
    }
    return undefined;
  }

  /** Tells the client about sequences without an event, and that it has caught up. */
  #position(): Step {
    const caughtUp = this.#announceAt !== undefined && this.#cursor >= this.#announceAt;
    if (this.#cursor === this.#announced && !caughtUp) return undefined;
    if (this.#announceAt !== undefined && !caughtUp) return undefined;
    this.#announceAt = undefined;
    this.#announced = this.#cursor;
    return { frame: encodeFrame('workspace.position', { workspace_id: this.#hub.workspaceId, seq: this.#cursor }) };
  }

  #status(now: number): Step {
    const [next] = this.#hub.statuses.changesAfter(this.#statuses, this.#cursor, now);
    if (next === undefined) return undefined;
    this.#statuses = next.version;
    return { frame: encodeFrame('agent.status', { workspace_id: this.#hub.workspaceId, ...next.report }) };
  }

  #notice(): Step {
    const notice = this.#hub.notices.next(this.#notices, this.#cursor);
    if (notice === undefined) return undefined;
    this.#notices = notice.id;
    return { frame: notice.frame };
  }

  #text(): Step {
    for (const messageId of this.#hub.streams.ids()) {
      const text = this.#chunk(messageId);
      if (text !== undefined) return text;
    }
    this.#forgetEnded();
    return undefined;
  }

  #chunk(messageId: string): Step {
    const chunk = this.#hub.nextChunk(messageId, this.#cursor, this.#received?.get(messageId));
    if (chunk === undefined) return undefined;
    this.#receive(messageId, chunk.received);
    return { frame: chunk.frame };
  }

  #receive(messageId: string, received: ReceivedText): void {
    this.#received ??= new Map();
    this.#received.set(messageId, received);
  }

  #forgetEnded(): void {
    for (const messageId of this.#received?.keys() ?? []) {
      if (!this.#hub.streams.has(messageId)) this.#received?.delete(messageId);
    }
  }
}
