import type { AgentState, EventsAnswer, StreamState } from '@uswarm/contract';
import { AgentStatuses, type StatusReport } from './agent-statuses.js';
import { EventLog, type EventLogLimits, type LogEntry, sizeOf } from './event-log.js';
import { encodeFrame, type Frame } from './frame.js';
import { Notices } from './notices.js';
import { type ReceivedText, type StreamChunk, StreamTexts } from './stream-texts.js';

/** An event from the bus. The payload is not read, except for the text and agent statuses. */
export type HubEvent = {
  /** Absent if unknown. */
  epoch?: string;
} & (
  | { kind: 'durable'; seq: number; event: string; subject_id?: string; payload: Record<string, unknown> }
  | { kind: 'skip'; seq: number }
  | { kind: 'ephemeral'; after_seq: number; event: string; payload: Record<string, unknown> }
);

/** The workspace state that the orchestrator has read. Fields are absent in release 0.2. */
export interface WorkspaceSnapshot {
  last_seq: number;
  epoch?: string | undefined;
  agents?: readonly AgentState[] | undefined;
  streams?: readonly StreamState[] | undefined;
}

/** Needed to judge a response from the orchestrator that arrives later. */
export interface Moment {
  position: number | undefined;
  known: number;
  statuses: number;
}

/** Changes by an event or a response. */
export interface Change {
  /** `text`: only a streamed text, which can wait a moment. */
  wake: 'now' | 'text' | undefined;
  /** Its epoch differs, so that the log must be asked. */
  doubtful: boolean;
}

export type PageResult = 'applied' | 'too_old' | 'diverged';

/** Log pages that are kept for sockets behind the ring. A socket reads a page again if it is no longer kept. */
const PAGES = 8;

const NOTHING: Change = { wake: undefined, doubtful: false };
const NOW: Change = { wake: 'now', doubtful: false };

/** A process' knowledge about a workspace with sockets. No I/O and no timers. */
export class HubState {
  readonly workspaceId: string;
  readonly log: EventLog;
  readonly streams = new StreamTexts();
  readonly statuses = new AgentStatuses();
  readonly notices = new Notices();
  #epoch: string | undefined;
  /** Epoch of the events that arrived before the orchestrator named one. */
  #receivedEpoch: string | undefined;
  #pages: LogEntry[][] = [];
  #pageBytes = 0;
  #lastChunk: { messageId: string; generation: number; chunkSeq: number; offset: number; frame: Frame } | undefined;

  constructor(workspaceId: string, limits: EventLogLimits) {
    this.workspaceId = workspaceId;
    this.log = new EventLog(limits);
  }

  get epoch(): string | undefined {
    return this.#epoch;
  }

  get position(): number | undefined {
    return this.log.position;
  }

  /** Bytes that `dropHistory` releases. */
  get historyBytes(): number {
    return this.log.bytes + this.#pageBytes;
  }

  /** To be taken before a request. */
  get moment(): Moment {
    return { position: this.position, known: this.log.known, statuses: this.statuses.version };
  }

  receive(event: HubEvent, now: number): Change {
    if (this.#isOtherEpoch(event.epoch)) return { wake: undefined, doubtful: true };
    if (this.#epoch === undefined && event.epoch) {
      this.#expectEpoch(event.epoch);
      this.#receivedEpoch = event.epoch;
    }
    if (event.kind === 'ephemeral') return this.#receiveEphemeral(event, now);
    const entry = event.kind === 'skip' ? { seq: event.seq } : entryOf(event);
    // An event that arrives after the snapshot that has it still ends its text.
    if (entry.seq <= (this.position ?? 0)) this.#endStreams([entry]);
    const inOrder = this.log.add(entry);
    this.#endStreams(inOrder);
    return inOrder.length > 0 ? NOW : NOTHING;
  }

  /** Applies what the orchestrator has read after `moment`. */
  restore(snapshot: WorkspaceSnapshot, moment: Moment, now: number): PageResult {
    const { last_seq, epoch, agents, streams } = snapshot;
    if (!this.#isSameHistory(epoch, last_seq, moment)) return 'diverged';
    this.#nameEpoch(epoch);
    if (this.position === undefined) {
      this.streams.doubtAll(last_seq);
      this.#endStreams(this.log.start(last_seq));
    } else this.log.confirmHead(last_seq, moment.known);
    if (agents !== undefined) this.statuses.replace(agents, last_seq, moment.statuses, now);
    if (streams !== undefined) {
      for (const stream of streams) this.streams.restore(stream, last_seq);
      this.streams.dropUnknown(new Set(streams.map(({ message_id }) => message_id)), last_seq);
    }
    return 'applied';
  }

  /** Applies the last sequence that the orchestrator has read after `moment`. */
  head(epoch: string, lastSeq: number, moment: Moment): PageResult {
    if (!this.#isSameHistory(epoch, lastSeq, moment)) return 'diverged';
    this.log.confirmHead(lastSeq, moment.known);
    return 'applied';
  }

  /** Applies a log page that was read after `moment`, and keeps it for sockets behind the ring. */
  page(after: number, { epoch, last_seq, events, resync }: EventsAnswer, moment: Moment): PageResult {
    if (!this.#isSameHistory(epoch, last_seq, moment)) return 'diverged';
    this.#nameEpoch(epoch);
    const whole = events.every(({ seq }, index) => seq === after + 1 + index);
    if (resync !== undefined || !whole || (events.length === 0 && after < last_seq)) return 'too_old';
    this.log.confirmHead(last_seq, moment.known);
    const entries = events.map((event) => ('skip' in event ? { seq: event.seq } : entryOf(event)));
    for (const entry of entries) {
      const isNew = entry.seq === (this.position ?? 0) + 1;
      this.#endStreams(this.log.add(entry));
      if (isNew) this.#doubtStream(entry);
    }
    this.#keepPage(entries);
    return 'applied';
  }

  /** The workspace has another history. */
  reset(epoch: string | undefined, position: number): void {
    this.#epoch = epoch;
    this.log.reset(position);
    this.dropHistory();
    this.streams.clear();
    this.streams.doubtAll(position);
    this.statuses.clear();
    this.notices.clear();
    this.#lastChunk = undefined;
  }

  /** Undefined if the event must be read from the log. */
  entry(seq: number): LogEntry | undefined {
    const kept = this.log.entry(seq);
    if (kept !== undefined) return kept;
    for (const page of this.#pages) {
      const first = page[0]?.seq ?? Infinity;
      if (seq >= first && seq < first + page.length) return page[seq - first];
    }
    return undefined;
  }

  /** The texts that a client at this position can have. None beyond `position`: a text may have ended in between. */
  textsAt(position: number): StreamState[] {
    return this.#isBehind(position) ? [] : this.streams.states(position);
  }

  /** Encoded once for all sockets that have the same text. */
  nextChunk(messageId: string, position: number, received: ReceivedText | undefined) {
    if (this.#isBehind(position)) return undefined;
    const chunk = this.streams.next(messageId, position, received);
    if (chunk === undefined) return undefined;
    const { generation, chunk_seq: chunkSeq, offset } = chunk;
    const last = this.#lastChunk;
    const isLast =
      last?.messageId === messageId &&
      last.generation === generation &&
      last.chunkSeq === chunkSeq &&
      last.offset === offset;
    const frame = isLast ? last.frame : encodeFrame('message.chunk', { workspace_id: this.workspaceId, ...chunk });
    if (!isLast) this.#lastChunk = { messageId, generation, chunkSeq, offset, frame };
    return { frame, received: { generation, chunkSeq, length: offset + chunk.chunk.length } };
  }

  /** Sockets behind the position read the log again. */
  dropHistory(): void {
    this.log.dropRing();
    this.#pages = [];
    this.#pageBytes = 0;
  }

  #receiveEphemeral({ after_seq, event, payload }: Extract<HubEvent, { kind: 'ephemeral' }>, now: number): Change {
    this.log.note(after_seq);
    if (event === 'message.chunk') {
      const changed = isChunk(payload) && this.streams.apply(payload, after_seq);
      return changed ? { ...NOTHING, wake: 'text' } : NOTHING;
    }
    if (event === 'agent.status') {
      if (!isStatus(payload)) return NOTHING;
      this.statuses.report(payload, after_seq, now);
    } else this.notices.add(encodeFrame(event, payload), after_seq);
    return NOW;
  }

  /** True if this hub lacks events that a client at this position has. */
  #isBehind(position: number): boolean {
    return position > (this.position ?? 0);
  }

  #isOtherEpoch(epoch: string | undefined): boolean {
    return epoch !== undefined && epoch !== '' && this.#epoch !== undefined && epoch !== this.#epoch;
  }

  #nameEpoch(epoch: string | undefined): void {
    if (this.#epoch !== undefined || epoch === undefined) return;
    this.#expectEpoch(epoch);
    this.#epoch = epoch;
  }

  /** Forgets what arrived from another epoch, as long as the orchestrator has named none. */
  #expectEpoch(epoch: string): void {
    if (this.#receivedEpoch === undefined || this.#receivedEpoch === epoch) return;
    this.log.forgetAhead();
    this.streams.clear();
    this.statuses.clear();
    this.notices.clear();
  }

  #isSameHistory(epoch: string | undefined, lastSeq: number, moment: Moment): boolean {
    return !this.#isOtherEpoch(epoch) && lastSeq >= (moment.position ?? 0);
  }

  /** Ends the streams of messages that are finished or deleted. */
  #endStreams(entries: readonly LogEntry[]): void {
    for (const { frame, subjectId } of entries) {
      if (frame === undefined || subjectId === undefined) continue;
      if (frame.event === 'message.done' || frame.event === 'message.deleted') this.streams.end(subjectId);
      else if (frame.event === 'conversation.deleted') this.streams.endConversation(subjectId);
    }
  }

  /** The log has only a message's last change: `message.updated` may hide the end of its stream. */
  #doubtStream({ seq, subjectId, frame }: LogEntry): void {
    if (subjectId !== undefined && frame?.event === 'message.updated') this.streams.doubt(subjectId, seq);
  }

  #keepPage(entries: LogEntry[]): void {
    if (entries.length === 0) return;
    this.#pages.push(entries);
    this.#pageBytes += bytesOf(entries);
    while (this.#pages.length > PAGES) this.#pageBytes -= bytesOf(this.#pages.shift() ?? []);
  }
}

const bytesOf = (entries: readonly LogEntry[]): number => entries.reduce((sum, entry) => sum + sizeOf(entry), 0);

/** Bus payloads are not validated. */
const isChunk = (payload: object): payload is StreamChunk =>
  hasTypes(payload, { message_id: 'string', chunk: 'string', chunk_seq: 'number', generation: 'number' });
const isStatus = (payload: object): payload is StatusReport =>
  hasTypes(payload, { agent_id: 'string', status: 'string' });

const hasTypes = (payload: object, types: Record<string, 'string' | 'number'>): boolean =>
  Object.entries(types).every(([name, type]) => typeof Reflect.get(payload, name) === type);

function entryOf(event: {
  seq: number;
  event: string;
  subject_id?: string;
  payload: Record<string, unknown>;
}): LogEntry {
  const { seq, subject_id: subjectId, payload } = event;
  return { seq, frame: encodeFrame(event.event, payload), ...(subjectId !== undefined && { subjectId }) };
}
