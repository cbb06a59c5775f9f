import assert from 'node:assert/strict';
import type { AgentState, EventsAnswer, StreamState } from '@uswarm/contract';
import { Feed } from '../src/features/hub/feed.js';
import { type HubEvent, HubState, type Moment, type WorkspaceSnapshot } from '../src/features/hub/hub-state.js';
import { agentStatus, AGENT, chunk, CONVERSATION, messageDone, messageNew, skip, WORKSPACE } from './envelopes.js';

export const LIMITS = { ringEvents: 4, ringBytes: 10_000 };
const PAGE = 3;
const UNTIL_MS = 60_000;

type Payload = Record<'seq' | 'offset' | 'generation', number> &
  Record<'message_id' | 'chunk' | 'agent_id' | 'status', string>;

/** A client that checks what it receives. */
export class Client {
  readonly feed: Feed;
  readonly start: number;
  position: number;
  readonly seqs: number[] = [];
  /** The texts that it shows as running. */
  readonly texts = new Map<string, { generation: number; text: string }>();
  /** The agents that are not online. */
  readonly statuses = new Map<string, string>();

  /** @param announceAt set if the client resumes */
  constructor(hub: HubState, start: number, announceAt?: number) {
    this.start = start;
    this.position = start;
    const streams = hub.textsAt(start);
    for (const { message_id, generation, text } of streams) this.texts.set(message_id, { generation, text });
    for (const { agent_id, status } of hub.statuses.states(0)) this.statuses.set(agent_id, status);
    this.feed = new Feed(hub, { cursor: start, announceAt, received: announceAt === undefined ? [] : streams });
  }

  /** @returns the feed's next step */
  pull(): ReturnType<Feed['next']> {
    const step = this.feed.next(0);
    if (step !== undefined && step !== 'read') {
      const [event, payload] = JSON.parse(step.frame.text.slice('2/v1,'.length)) as [string, Payload];
      this.#apply(event, payload);
    }
    return step;
  }

  #apply(event: string, payload: Payload): void {
    if (event === 'message.chunk') this.#write(payload);
    else if (event === 'agent.status') {
      if (payload.status === 'online') this.statuses.delete(payload.agent_id);
      else this.statuses.set(payload.agent_id, payload.status);
    } else {
      // I2: the position only grows.
      if (event === 'workspace.position') assert.ok(payload.seq >= this.position);
      else {
        assert.ok(payload.seq > this.position);
        this.seqs.push(payload.seq);
      }
      this.position = payload.seq;
      if (event === 'message.done') this.texts.delete(payload.message_id);
    }
  }

  #write({ message_id, generation, offset, chunk: added }: Payload): void {
    const shown = this.texts.get(message_id);
    const text = shown?.generation === generation ? shown.text : '';
    assert.ok(offset <= text.length, 'the chunk leaves a hole');
    this.texts.set(message_id, { generation, text: text.slice(0, offset) + added });
  }
}

type Fate = 'deliver' | 'lose' | 'delay';
type Kind = 'event' | 'skip' | 'reply' | 'done';

/** The orchestrator's log, a bus that loses and delays, a hub and its clients. */
export class World {
  epoch = 1;
  hub: HubState;
  clients: Client[] = [];
  events: HubEvent[] = [];
  delayed: HubEvent[] = [];
  /** The replies that are written, by their messages. */
  replies = new Map<string, { generation: number; chunkSeq: number; text: string }>();
  statuses = new Map<string, AgentState['status']>();
  /** Snapshots that were read and have not arrived. */
  #asked: { moment: Moment; snapshot: WorkspaceSnapshot & { epoch: string } }[] = [];

  constructor() {
    this.hub = new HubState(WORKSPACE, LIMITS);
    this.hub.restore({ last_seq: 0, epoch: this.#epochName }, this.hub.moment, 0);
  }

  get #epochName(): string {
    return `e${this.epoch}`;
  }

  append(fate: Fate, kind: Kind): void {
    const seq = this.events.length + 1;
    const event = { ...this.#envelope(seq, kind), epoch: this.#epochName } as HubEvent;
    this.events.push(event);
    this.#publish(fate, event);
  }

  /** The newest reply gets longer. */
  write(fate: Fate): void {
    const [id, reply] = [...this.replies].at(-1) ?? [];
    if (id === undefined || reply === undefined) return;
    const { generation, text } = reply;
    reply.chunkSeq += 1;
    reply.text += 'x';
    const fields = { message_id: id, generation, chunk_seq: reply.chunkSeq, offset: text.length, chunk: 'x' };
    this.#publish(fate, { ...chunk(this.events.length, fields), epoch: this.#epochName } as HubEvent);
  }

  setStatus(fate: Fate, agent: string, status: AgentState['status']): void {
    this.statuses.set(agent, status);
    const { payload, ...header } = agentStatus(this.events.length, status, UNTIL_MS) as HubEvent & {
      kind: 'ephemeral';
    };
    this.#publish(fate, { ...header, payload: { ...payload, agent_id: agent }, epoch: this.#epochName });
  }

  page(after: number): EventsAnswer {
    const events = this.events.slice(after, after + PAGE).map((event): EventsAnswer['events'][number] => {
      const seq = 'seq' in event ? event.seq : 0;
      if (event.kind !== 'durable') return { seq, skip: true };
      return { seq, event: event.event, subject_id: event.subject_id ?? '', payload: event.payload };
    });
    return { epoch: this.#epochName, last_seq: this.events.length, events };
  }

  read(after: number): void {
    const { position } = this.hub;
    if (position === undefined || after > position) return;
    const result = this.hub.page(after, this.page(after), this.hub.moment);
    if (result === 'applied') return;
    assert.equal(result, 'diverged');
    this.#reset(this.#epochName, this.events.length);
  }

  /** Reads a snapshot, which arrives later. */
  ask(): void {
    const agents = [...this.statuses].flatMap(([agent_id, status]): AgentState[] =>
      status === 'online' ? [] : [{ agent_id, status, until_ms: UNTIL_MS }],
    );
    const place = { conversation_id: CONVERSATION, agent_id: AGENT };
    const streams = [...this.replies].flatMap(([message_id, { generation, chunkSeq, text }]): StreamState[] =>
      chunkSeq === 0 ? [] : [{ ...place, message_id, generation, chunk_seq: chunkSeq, text }],
    );
    const snapshot = { last_seq: this.events.length, epoch: this.#epochName, agents, streams };
    this.#asked.push({ moment: this.hub.moment, snapshot });
  }

  /** A snapshot arrives. @returns its position */
  answer(index: number): number | undefined {
    const [asked] = this.#asked.splice(index % Math.max(1, this.#asked.length), 1);
    if (asked === undefined) return undefined;
    const { moment, snapshot } = asked;
    if (this.hub.restore(snapshot, moment, 0) === 'diverged') {
      this.#reset(snapshot.epoch, snapshot.last_seq);
      this.hub.restore(snapshot, this.hub.moment, 0);
    }
    return snapshot.last_seq;
  }

  join(start: number | undefined, announceAt?: number): void {
    if (start !== undefined && this.clients.length < 4) this.clients.push(new Client(this.hub, start, announceAt));
  }

  /** Another gateway starts, and receives events before its first snapshot. */
  restart(): void {
    this.hub = new HubState(WORKSPACE, LIMITS);
    this.clients = [];
    this.#asked = [];
  }

  /** The database falls back to an earlier state. Its replies are written again. */
  fallBack(seq: number): void {
    this.epoch += 1;
    this.events = this.events.slice(0, seq);
    this.replies.clear();
    for (const event of this.events) {
      if (event.kind !== 'durable' || event.subject_id?.startsWith('reply') !== true) continue;
      if (event.event === 'message.done') this.replies.delete(event.subject_id);
      else this.replies.set(event.subject_id, { generation: this.epoch, chunkSeq: 0, text: '' });
    }
  }

  check(): void {
    if (this.hub.epoch !== this.#epochName) return;
    for (const { feed, seqs, start, texts } of this.clients) {
      // I5: all events up to the cursor, each once, in order.
      const known = this.events.slice(0, feed.cursor);
      const expected = known.slice(start).flatMap((event) => (event.kind === 'durable' ? [event.seq] : []));
      assert.deepEqual(seqs, expected);
      for (const event of known) {
        const isEnd = event.kind === 'durable' && event.event === 'message.done';
        assert.ok(!isEnd || !texts.has(event.subject_id ?? ''), 'a text that has ended is shown');
      }
    }
  }

  /** Effects of the periodic check and the hub timers. */
  settle(): void {
    const { moment } = this.hub;
    if (this.hub.head(this.#epochName, this.events.length, moment) === 'diverged') {
      this.#reset(this.#epochName, this.events.length);
    }
    this.#asked = [];
    // So often, because a stream that may have ended is removed when it was unknown some times.
    for (let time = 0; time < 4; time += 1) {
      this.ask();
      this.answer(0);
    }
    // Some clients are behind the snapshots.
    this.#pullAll();
    while (this.hub.log.behind) this.read(this.hub.position ?? 0);
    this.clients.push(new Client(this.hub, this.events.length));
    this.#pullAll();
  }

  /** Each client shows the orchestrator's texts and statuses. */
  checkState(): void {
    const texts = [...this.replies].flatMap(([id, { text }]) => (text === '' ? [] : [[id, text]]));
    const statuses = [...this.statuses].filter(([, status]) => status !== 'online');
    for (const client of this.clients) {
      const shown = [...client.texts].map(([id, { text }]) => [id, text]);
      assert.deepEqual(new Map(shown as [string, string][]), new Map(texts as [string, string][]));
      assert.deepEqual(client.statuses, new Map(statuses));
    }
    assert.equal(this.hub.streams.incomplete, false);
  }

  #envelope(seq: number, kind: Kind): object {
    if (kind === 'skip') return skip(seq);
    if (kind === 'reply') {
      const id = `reply-${this.epoch}-${seq}`;
      this.replies.set(id, { generation: this.epoch, chunkSeq: 0, text: '' });
      return { ...messageNew(seq), subject_id: id };
    }
    const [id] = this.replies.keys();
    if (kind === 'event' || id === undefined) return messageNew(seq);
    this.replies.delete(id);
    return messageDone(seq, id);
  }

  #pullAll(): void {
    for (const client of this.clients) {
      for (let step = client.pull(); step !== undefined; step = client.pull()) {
        if (step === 'read') this.read(client.feed.cursor);
      }
    }
  }

  #publish(fate: Fate, event: HubEvent): void {
    if (fate === 'deliver') this.hub.receive(event, 0);
    if (fate === 'delay') this.delayed.push(event);
  }

  #reset(epoch: string, lastSeq: number): void {
    this.hub.reset(epoch, lastSeq);
    // All clients are told to resynchronize, so that nothing more is sent to them.
    this.clients = [];
  }
}
