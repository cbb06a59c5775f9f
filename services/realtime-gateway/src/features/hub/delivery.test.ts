import { afterEach, describe, expect, it } from '@jest/globals';
import type { BusEnvelope } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import {
  AGENT,
  agentStatus,
  chunk,
  CONVERSATION,
  messageDone,
  messageNew,
  skip,
  WORKSPACE,
} from '../../../test/envelopes.js';
import { createReconnectingBus, messageUpdated, seqs, subscribe, textOf } from '../../../test/received-events.js';
import { startTestGateway, TEST_HUBS, type TestGateway, type TestGatewayOptions } from '../../../test/test-gateway.js';
import type { TestClient } from '../../../test/test-client.js';

let gateway: TestGateway;
afterEach(() => gateway.close());

const OFTEN = { hubs: { ...TEST_HUBS, positionCheckMs: 30 } };
const start = async (options: TestGatewayOptions = {}): Promise<void> => {
  gateway = await startTestGateway(options);
};
const subscribed = async (since?: number | string): Promise<TestClient> => {
  const client = await gateway.connect();
  await subscribe(client, since);
  return client;
};

/** Stores events that the bus loses. */
const lose = (...envelopes: BusEnvelope[]): void => gateway.log.add(...envelopes);

describe('a client whose events the bus loses', () => {
  it('has the answer if its last events are lost and nothing follows', async () => {
    await start({ settings: OFTEN });
    const clients = [await subscribed(), await subscribed()];
    await gateway.publish(messageNew(1));
    lose(messageUpdated(2), messageDone(3));
    for (const client of clients) {
      await client.next('message.done');
      expect(client.names()).toEqual(['workspace.subscribed', 'message.new', 'message.updated', 'message.done']);
    }
    expect(await gateway.metric('uswarm_gateway_fills_total')).toContain('{evidence="check"} 1');
  });

  it('receives a lost event after a short time if a later one arrives', async () => {
    await start();
    const client = await subscribed();
    lose(messageNew(1));
    await gateway.publish(messageNew(2));
    await client.next('message.new');
    await client.next('message.new');
    expect(seqs(client)).toEqual([1, 2]);
    expect(await gateway.metric('uswarm_gateway_fills_total')).toContain('{evidence="gap"} 1');
  });

  it('I11: receives the status of an agent that seemed to be online, if it was lost with other events', async () => {
    await start({ settings: OFTEN });
    const client = await subscribed();
    await gateway.publish(messageNew(1));
    await client.next('message.new');
    gateway.log.agents.push({ agent_id: AGENT, status: 'pending', conversation_id: CONVERSATION, until_ms: 60_000 });
    lose(messageDone(2));
    expect(await client.next('agent.status')).toMatchObject({ agent_id: AGENT, status: 'pending' });
  });

  it('has the whole text from offset 0 if the message.new of the reply is lost', async () => {
    await start();
    const client = await subscribed();
    lose(messageNew(1));
    for (const [index, text] of ['The ', 'whole ', 'text.'].entries()) {
      const offset = ['The ', 'whole '].slice(0, index).join('').length;
      await gateway.publish(chunk(1, { chunk_seq: index + 1, offset, chunk: text }));
    }
    await eventually(() => textOf(client) === 'The whole text.');
    expect(client.names().slice(0, 3)).toEqual(['workspace.subscribed', 'message.new', 'message.chunk']);
    const first = client.events.find(({ name }) => name === 'message.chunk');
    expect(first?.payload).toMatchObject({ offset: 0 });
    expect(await gateway.metric('uswarm_gateway_fills_total')).toContain('{evidence="after_seq"} 1');
  });

  it('receives all events if the orchestrator fails several times while they are read', async () => {
    let failures = 3;
    await start({
      settings: OFTEN,
      orchestrator: {
        events: (range, requestId) => {
          failures -= 1;
          if (failures >= 0) throw new Error('unavailable');
          return gateway.log.orchestrator.events(range, requestId);
        },
      },
    });
    const client = await subscribed();
    lose(...Array.from({ length: 20 }, (_, index) => messageNew(index + 1)));
    for (let seq = 1; seq <= 20; seq += 1) expect(await client.next('message.new')).toMatchObject({ seq });
  });

  it('receives all events after the bus was disconnected, and no status that has ended meanwhile', async () => {
    const bus = createReconnectingBus();
    await start({ bus });
    const clients = [await subscribed(), await subscribed()];
    await gateway.publish(messageNew(1), agentStatus(1, 'writing', 120_000));
    for (const client of clients) await client.next('agent.status');
    lose(messageDone(2));
    bus.reconnect();
    for (const client of clients) {
      await client.next('message.done');
      expect(await client.next('agent.status')).toMatchObject({ agent_id: AGENT, status: 'online' });
    }
  });

  it('is told the position after events of deleted subjects, without reading the log', async () => {
    await start();
    const client = await subscribed();
    await gateway.publish(...Array.from({ length: 100 }, (_, index) => skip(index + 1)), messageNew(101));
    await client.next('message.new');
    await gateway.publish(skip(102));
    await eventually(() => seqs(client).at(-1) === 102);
    expect(client.events.at(-1)).toEqual({
      name: 'workspace.position',
      payload: { workspace_id: WORKSPACE, seq: 102 },
    });
    expect(await gateway.metric('uswarm_gateway_fills_total')).not.toMatch(/} [1-9]/);
  });

  it('receives no further events after a resync if the events are no longer stored', async () => {
    await start({ settings: OFTEN });
    const client = await subscribed();
    lose(...Array.from({ length: 5 }, (_, index) => messageNew(index + 1)));
    gateway.log.prune(WORKSPACE, 3);
    expect(await client.next('workspace.resync')).toEqual({
      workspace_id: WORKSPACE,
      last_seq: 5,
      epoch: 'e1',
      reason: 'too_old',
      in_ms: 0,
    });
    await gateway.publish(messageNew(6));
    await client.ask('workspace.unsubscribe', { workspace_ids: [] });
    expect(client.names()).toEqual(['workspace.subscribed', 'workspace.resync']);
    await subscribe(client);
    await gateway.publish(messageNew(7));
    expect(await client.next('message.new')).toMatchObject({ seq: 7 });
    expect(await gateway.metric('uswarm_gateway_resyncs_total')).toContain('{reason="too_old"} 1');
  });

  it('I11: sees each status end by itself if the bus loses its end', async () => {
    await start();
    const client = await subscribed();
    await gateway.publish(agentStatus(0, 'writing', 50));
    expect(await client.next('agent.status')).toMatchObject({ status: 'writing', expires_in_ms: expect.any(Number) });
    expect(await client.next('agent.status')).toEqual({
      workspace_id: WORKSPACE,
      agent_id: AGENT,
      conversation_id: CONVERSATION,
      status: 'online',
    });
  });

  it('is told that its workspace was deleted if that event was lost', async () => {
    await start({
      settings: OFTEN,
      orchestrator: { positions: async () => ({ epoch: 'e1', positions: [] }) },
    });
    const client = await subscribed();
    expect(await client.next('workspace.deleted')).toEqual({ workspace_id: WORKSPACE });
    await eventually(async () => (await gateway.metric('uswarm_gateway_subscriptions')).endsWith(' 0'));
  });
});

describe('a client after a failover that lost events', () => {
  it('is told to reload before any event, when it resumes and when it is connected', async () => {
    await start({ settings: { ...OFTEN, subscriptions: { maxHoldMs: 0, resumeEvents: 10_000, resyncSpreadMs: 0 } } });
    const connected = await subscribed();
    await gateway.publish(...Array.from({ length: 105 }, (_, index) => messageNew(index + 1)));
    await eventually(() => seqs(connected).at(-1) === 105);
    gateway.log.rewind(WORKSPACE, 100);
    gateway.log.epoch = 'e2';
    const again = Array.from({ length: 10 }, (_, index) => ({ ...messageNew(101 + index), epoch: 'e2' }));
    gateway.log.add(...again);
    const diverged = { workspace_id: WORKSPACE, last_seq: 110, epoch: 'e2', reason: 'diverged', in_ms: 0 };
    expect(await connected.next('workspace.resync')).toEqual(diverged);
    const resuming = await gateway.connect();
    await subscribe(resuming, 'e1:105');
    expect(await resuming.next('workspace.resync')).toEqual(diverged);
    for (const envelope of again) await gateway.bus.publish(envelope);
    await resuming.ask('workspace.unsubscribe', { workspace_ids: [] });
    expect(resuming.names()).toEqual(['workspace.subscribed', 'workspace.resync']);
    expect(seqs(connected).at(-1)).toBe(105);
  });

  it('is told to reload if the log ends before its position in the same epoch', async () => {
    await start({ settings: OFTEN });
    const client = await subscribed();
    await gateway.publish(messageNew(1), messageNew(2));
    await eventually(() => seqs(client).at(-1) === 2);
    gateway.log.rewind(WORKSPACE, 1);
    expect(await client.next('workspace.resync')).toMatchObject({ reason: 'diverged', last_seq: 1 });
  });

  it('ignores a stale envelope of another epoch', async () => {
    await start();
    const client = await subscribed();
    await gateway.publish(messageNew(1));
    await gateway.bus.publish({ ...messageNew(2), epoch: 'e0' });
    await gateway.publish(messageNew(2));
    await eventually(() => seqs(client).at(-1) === 2);
    expect(client.names()).toEqual(['workspace.subscribed', 'message.new', 'message.new']);
  });
});

describe('a client that does not read', () => {
  it('I10: has at most 64 KiB and one event unflushed, and receives all events later', async () => {
    await start();
    const [client, reading] = [await gateway.connect({ transports: ['polling'] }), await gateway.connect()];
    for (const each of [client, reading]) await subscribe(each);
    const { engine } = client.socket.io;
    const poll = Reflect.get(engine.transport, '_poll') as () => void;
    let missedPoll = false;
    Reflect.set(engine.transport, '_poll', () => (missedPoll = true));
    await gateway.publish(messageNew(1));
    await eventually(() => missedPoll);
    const big = (seq: number) => {
      const envelope = messageNew(seq);
      Object.assign(envelope.payload['message'] as object, { content: { type: 'text', text: 'x'.repeat(30_000) } });
      return envelope;
    };
    const events = Array.from({ length: 100 }, (_, index) => big(index + 2));
    await gateway.publish(...events);
    await eventually(() => seqs(reading).at(-1) === 101);
    const responses: number[] = [];
    const onData = Reflect.get(engine.transport, 'onData') as (data: string) => void;
    Reflect.set(engine.transport, 'onData', (data: string) => {
      responses.push(data.length);
      onData.call(engine.transport, data);
    });
    Reflect.set(engine.transport, '_poll', poll);
    poll.call(engine.transport);
    await eventually(() => seqs(client).at(-1) === 101);
    expect(seqs(client)).toEqual(Array.from({ length: 101 }, (_, index) => index + 1));
    // Unflushed packets arrive in the first response.
    const frame = JSON.stringify(['message.new', events[0]?.payload]).length + 20;
    expect(responses[0]).toBeGreaterThan(64 * 1024);
    expect(responses[0]).toBeLessThanOrEqual(64 * 1024 + frame);
  });
});
