import assert from 'node:assert/strict';
import { describe, expect, it } from '@jest/globals';
import type { EventsAnswer } from '@uswarm/contract';
import fc from 'fast-check';
import {
  AGENT,
  chunk,
  CONVERSATION,
  MESSAGE,
  messageDeleted,
  messageDone,
  messageNew,
  skip,
  WORKSPACE,
} from '../../../test/envelopes.js';
import { Feed } from './feed.js';
import { type HubEvent, HubState } from './hub-state.js';

const LIMITS = { ringEvents: 4, ringBytes: 10_000 };
const PAGE = 3;

/** A client that checks what it receives. */
class Client {
  readonly feed: Feed;
  readonly start: number;
  position: number;
  readonly seqs: number[] = [];

  constructor(hub: HubState, start: number, announceAt?: number) {
    this.start = start;
    this.position = start;
    this.feed = new Feed(hub, { cursor: start, announceAt, received: [] });
  }

  /** @returns the next step of the feed */
  pull(): ReturnType<Feed['next']> {
    const step = this.feed.next(0);
    if (step === undefined || step === 'read') return step;
    const [event, payload] = JSON.parse(step.frame.text.slice('2/v1,'.length)) as [string, { seq: number }];
    if (event === 'message.chunk') return step;
    // I2: the position only grows.
    if (event === 'workspace.position') assert.ok(payload.seq >= this.position);
    else {
      assert.ok(payload.seq > this.position);
      this.seqs.push(payload.seq);
    }
    this.position = payload.seq;
    return step;
  }
}

/** The log of the orchestrator, a bus that loses and delays, a hub and its clients. */
class World {
  epoch = 1;
  hub: HubState;
  clients: Client[] = [];
  events: HubEvent[] = [];
  delayed: HubEvent[] = [];

  constructor() {
    this.hub = new HubState(WORKSPACE, LIMITS);
    this.hub.restore({ last_seq: 0, epoch: this.#epochName }, this.hub.moment, 0);
  }

  get #epochName(): string {
    return `e${this.epoch}`;
  }

  append(fate: 'deliver' | 'lose' | 'delay', kind: 'event' | 'skip'): void {
    const seq = this.events.length + 1;
    const event = { ...(kind === 'skip' ? skip(seq) : messageNew(seq)), epoch: this.#epochName } as HubEvent;
    this.events.push(event);
    if (fate === 'deliver') this.hub.receive(event, 0);
    if (fate === 'delay') this.delayed.push(event);
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
    const { position = 0 } = this.hub;
    if (after > position) return;
    const result = this.hub.page(after, this.page(after), this.hub.moment);
    if (result === 'applied') return;
    assert.equal(result, 'diverged');
    this.hub.reset(this.#epochName, this.events.length);
    // All clients are told to resynchronize, so that nothing more is sent to them.
    this.clients = [];
  }

  /** The database falls back to an earlier state. */
  fallBack(seq: number): void {
    this.epoch += 1;
    this.events = this.events.slice(0, seq);
  }

  check(): void {
    for (const { feed, seqs, start } of this.clients) {
      // I5: all events up to the cursor, each once, in order.
      if (this.hub.epoch !== this.#epochName) continue;
      const expected = this.events
        .slice(start, feed.cursor)
        .flatMap((event) => (event.kind === 'durable' ? [event.seq] : []));
      assert.deepEqual(seqs, expected);
    }
  }

  /** What the periodic check and the timers of the hub do. */
  settle(): void {
    const { moment } = this.hub;
    if (this.hub.head(this.#epochName, this.events.length, moment) === 'diverged') {
      this.hub.reset(this.#epochName, this.events.length);
      this.clients = [];
    }
    while (this.hub.log.behind) this.read(this.hub.position ?? 0);
    for (const client of this.clients) {
      for (let step = client.pull(); step !== undefined; step = client.pull()) {
        if (step === 'read') this.read(client.feed.cursor);
      }
    }
  }
}

type Model = Record<string, never>;
type Step = fc.Command<Model, World>;

/** A step that is possible in each state. */
const step = (name: string, run: (world: World) => void): Step => ({
  check: () => true,
  run(_model, world) {
    run(world);
    world.check();
  },
  toString: () => name,
});

const steps: fc.Arbitrary<Step>[] = [
  fc
    .tuple(fc.constantFrom('deliver', 'deliver', 'lose', 'delay'), fc.constantFrom('event', 'event', 'skip'))
    .map(([fate, kind]) => step(`${fate} ${kind}`, (world) => world.append(fate as 'lose', kind as 'event'))),
  fc.nat(10).map((index) =>
    step(`delayed ${index}`, (world) => {
      const [event] = world.delayed.splice(index % Math.max(1, world.delayed.length), 1);
      if (event !== undefined) world.hub.receive(event, 0);
    }),
  ),
  fc.tuple(fc.nat(3), fc.nat(6)).map(([index, times]) =>
    step(`pull ${index} × ${times}`, (world) => {
      for (let time = 0; time <= times; time += 1) world.clients[index]?.pull();
    }),
  ),
  fc.nat(3).map((index) =>
    step(`read for ${index}`, (world) => {
      const client = world.clients[index];
      if (client !== undefined && client.feed.cursor < (world.hub.position ?? 0)) world.read(client.feed.cursor);
    }),
  ),
  fc.constant(step('fill', (world) => world.read(world.hub.position ?? 0))),
  fc.constant(step('drop history', (world) => world.hub.dropHistory())),
  fc.constant(
    step('chunk', (world) => world.hub.receive(chunk(world.events.length) as HubEvent & { kind: 'ephemeral' }, 0)),
  ),
  fc.nat(20).map((since) =>
    step(`join ${since}`, (world) => {
      const { position = 0 } = world.hub;
      if (world.clients.length < 4) world.clients.push(new Client(world.hub, Math.min(since, position), position));
    }),
  ),
];
const failover = fc.nat(20).map((seq) => step(`fall back to ${seq}`, (world) => world.fallBack(seq)));

describe('a hub with a lossy bus', () => {
  it('I2 I5 I6: sends each client all events once and in order, and finds every loss, also of the last event', () => {
    fc.assert(
      fc.property(fc.commands(steps, { maxCommands: 80 }), (commands) => {
        const world = new World();
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        world.settle();
        world.check();
        for (const { position } of world.clients) expect(position).toBe(world.events.length);
      }),
      { numRuns: 300 },
    );
  });

  it('sends nothing of another history, whenever the database falls back', () => {
    fc.assert(
      fc.property(fc.commands([...steps, failover], { maxCommands: 80 }), (commands) => {
        const world = new World();
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        world.settle();
        world.check();
        expect(world.hub.epoch).toBe(`e${world.epoch}`);
        expect(world.hub.position).toBe(world.events.length);
      }),
      { numRuns: 300 },
    );
  });

  it('sends a text before the event that ends it', () => {
    const hub = new HubState(WORKSPACE, LIMITS);
    hub.restore({ last_seq: 0, epoch: 'e1' }, hub.moment, 0);
    const client = new Client(hub, 0);
    const seen: string[] = [];
    const pull = (): void => {
      for (let next = client.pull(); next !== undefined && next !== 'read'; next = client.pull()) {
        seen.push(next.frame.event);
      }
    };
    for (const event of [messageNew(1), chunk(1, { offset: 0 })]) hub.receive(event, 0);
    pull();
    hub.receive(chunk(1, { chunk_seq: 2, offset: 4, chunk: 'more' }), 0);
    hub.receive({ ...messageNew(2), event: 'message.updated', subject_id: MESSAGE }, 0);
    pull();
    hub.receive(messageDone(3), 0);
    pull();
    expect(seen).toEqual(['message.new', 'message.chunk', 'message.chunk', 'message.updated', 'message.done']);
  });

  it.each([
    ['finished', messageDone(2)],
    ['deleted', messageDeleted(2)],
  ])('sends no text of a message that was %s, also if a chunk arrives late', (_how, end) => {
    const hub = new HubState(WORKSPACE, LIMITS);
    hub.restore({ last_seq: 1, epoch: 'e1' }, hub.moment, 0);
    hub.receive(chunk(1, { offset: 0 }), 0);
    hub.receive(end, 0);
    hub.receive(chunk(1, { chunk_seq: 2, offset: 4 }), 0);
    const client = new Client(hub, 2);
    expect(client.pull()).toBeUndefined();
  });

  it('sends the text of a message that continues after a lost event, once the orchestrator confirms it', () => {
    const hub = new HubState(WORKSPACE, LIMITS);
    hub.restore({ last_seq: 1, epoch: 'e1' }, hub.moment, 0);
    hub.receive(chunk(1, { offset: 0 }), 0);
    // The log has only the last event of the message, which can hide message.done.
    const updated = { ...messageNew(2), event: 'message.updated' };
    hub.page(1, { epoch: 'e1', last_seq: 2, events: [updated] }, hub.moment);
    const client = new Client(hub, 2);
    expect(client.pull()).toBeUndefined();
    const place = { message_id: MESSAGE, conversation_id: CONVERSATION, agent_id: AGENT };
    const streams = [{ ...place, generation: 1, chunk_seq: 1, text: 'text' }];
    hub.restore({ last_seq: 2, epoch: 'e1', streams }, hub.moment, 0);
    expect(client.pull()).toMatchObject({ frame: { event: 'message.chunk' } });
  });
});
