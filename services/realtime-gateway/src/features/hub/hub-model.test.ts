import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  AGENT,
  chunk,
  CONVERSATION,
  MESSAGE,
  messageDeleted,
  messageDone,
  messageNew,
  WORKSPACE,
} from '../../../test/envelopes.js';
import { Client, LIMITS, World } from '../../../test/hub-world.js';
import { HubState } from './hub-state.js';

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

const fate = fc.constantFrom('deliver' as const, 'deliver' as const, 'lose' as const, 'delay' as const);

const steps: fc.Arbitrary<Step>[] = [
  fc
    .tuple(fate, fc.constantFrom('event' as const, 'skip' as const, 'reply' as const, 'done' as const))
    .map(([how, kind]) => step(`${how} ${kind}`, (world) => world.append(how, kind))),
  fate.map((how) => step(`${how} chunk`, (world) => world.write(how))),
  fc
    .tuple(
      fc.constantFrom('deliver' as const, 'lose' as const),
      fc.constantFrom('a', 'b'),
      fc.constantFrom('writing' as const, 'online' as const),
    )
    .map(([how, agent, status]) =>
      step(`${how} ${status} of ${agent}`, (world) => world.setStatus(how, agent, status)),
    ),
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
  fc.nat(20).map((since) =>
    step(`join ${since}`, (world) => {
      const { position } = world.hub;
      if (position !== undefined) world.join(Math.min(since, position), position);
    }),
  ),
  fc.constant(step('ask', (world) => world.ask())),
  fc.tuple(fc.nat(3), fc.boolean()).map(([index, joins]) =>
    step(`answer ${index}${joins ? ' and join' : ''}`, (world) => {
      const position = world.answer(index);
      if (joins) world.join(position);
    }),
  ),
];
const restart = fc.constant(step('restart', (world) => world.restart()));
const failover = fc.nat(20).map((seq) => step(`fall back to ${seq}`, (world) => world.fallBack(seq)));

describe('a hub with a lossy bus', () => {
  it('I2 I5 I6: sends each client all events once and in order, and finds every loss, also of the last event', () => {
    fc.assert(
      fc.property(fc.commands([...steps, restart], { maxCommands: 80, size: 'max' }), (commands) => {
        const world = new World();
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        world.settle();
        world.check();
        world.checkState();
        for (const { position } of world.clients) expect(position).toBe(world.events.length);
      }),
      { numRuns: 1_000 },
    );
  });

  it('sends nothing of another history, whenever the database falls back', () => {
    fc.assert(
      fc.property(fc.commands([...steps, failover], { maxCommands: 80, size: 'max' }), (commands) => {
        const world = new World();
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        world.settle();
        world.check();
        world.checkState();
        expect(world.hub.epoch).toBe(`e${world.epoch}`);
        expect(world.hub.position).toBe(world.events.length);
      }),
      { numRuns: 1_000 },
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
    // The log has only the message's last event, which can hide message.done.
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
