import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { BusEnvelope } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import {
  AGENT,
  chunk,
  CONVERSATION,
  conversationDeleted,
  MESSAGE,
  messageDone,
  messageNew,
} from '../../../test/envelopes.js';
import { messageUpdated, subscribe, textOf } from '../../../test/received-events.js';
import type { TestClient } from '../../../test/test-client.js';
import { startTestGateway, TEST_HUBS, type TestGateway, type TestGatewayOptions } from '../../../test/test-gateway.js';

let gateway: TestGateway;
afterEach(() => gateway.close());

const start = async (options: TestGatewayOptions = {}): Promise<void> => {
  gateway = await startTestGateway(options);
};
const subscribed = async (): Promise<TestClient> => {
  const client = await gateway.connect();
  await subscribe(client);
  return client;
};
/** Stores events that the bus loses. */
const lose = (...envelopes: BusEnvelope[]): void => gateway.log.add(...envelopes);

describe('streamed text', () => {
  it('is a prefix of the answer on each client at all times, also if every seventh chunk is lost', async () => {
    const answer = Array.from({ length: 120 }, (_, index) => `word${index} `);
    const whole = answer.join('');
    await start({ settings: { hubs: { ...TEST_HUBS, stateRetryMs: 20 } } });
    const clients = [await subscribed()];
    let text = '';
    for (const [index, word] of answer.entries()) {
      const part = chunk(0, { chunk_seq: index + 1, offset: text.length, chunk: word });
      text += word;
      // The orchestrator's stored text lags behind.
      if (index % 10 === 9) {
        gateway.log.streams = [
          {
            message_id: MESSAGE,
            conversation_id: CONVERSATION,
            agent_id: AGENT,
            generation: 1,
            chunk_seq: index + 1,
            text,
          },
        ];
      }
      if (index % 7 !== 6) await gateway.publish(part);
      if (index === 60) clients.push(await subscribed());
      for (const client of clients) expect(whole.startsWith(textOf(client))).toBe(true);
      await sleep(2);
    }
    for (const client of clients) await eventually(() => textOf(client) === whole);
  });

  it('is not shown without its end to a client that subscribed after the end, if it arrives late', async () => {
    await start({ settings: { hubs: { ...TEST_HUBS, stateRetryMs: 20 } } });
    lose(messageNew(1), messageDone(2));
    const client = await subscribed();
    await gateway.publish(chunk(1, { chunk_seq: 1, offset: 0, chunk: 'late' }));
    await gateway.publish(messageDone(2));
    // The orchestrator is asked for the text some times.
    await sleep(100);
    await gateway.publish(messageNew(3));
    await client.next('message.new');
    expect(client.names()).toEqual(['workspace.subscribed', 'message.new']);
  });

  it('is shown to a client that subscribed after other events, when the orchestrator has it', async () => {
    await start({ settings: { hubs: { ...TEST_HUBS, stateRetryMs: 20 } } });
    lose(messageNew(1), messageNew(2));
    const client = await subscribed();
    await gateway.publish(chunk(1, { chunk_seq: 1, offset: 0, chunk: 'begun' }));
    const place = { message_id: MESSAGE, conversation_id: CONVERSATION, agent_id: AGENT };
    gateway.log.streams = [{ ...place, generation: 1, chunk_seq: 1, text: 'begun' }];
    await client.next('message.chunk');
    expect(textOf(client)).toBe('begun');
  });

  it('is shown immediately if it began before the last event that was read from the log', async () => {
    await start();
    const client = await subscribed();
    lose(messageNew(1), messageNew(2));
    await gateway.publish(messageNew(3));
    for (let seq = 1; seq <= 3; seq += 1) await client.next('message.new');
    await gateway.publish(chunk(1, { chunk_seq: 1, offset: 0, chunk: 'begun' }));
    await client.next('message.chunk');
    expect(textOf(client)).toBe('begun');
  });

  it('is not shown if it arrives late and the log hides whether it has ended', async () => {
    await start();
    const client = await subscribed();
    lose(messageUpdated(1));
    await gateway.publish(messageNew(2));
    await client.next('message.new');
    await gateway.publish(chunk(0, { chunk_seq: 1, offset: 0, chunk: 'late' }));
    await gateway.publish(messageNew(3));
    await client.next('message.new');
    expect(client.names()).toEqual(['workspace.subscribed', 'message.updated', 'message.new', 'message.new']);
  });

  it('is not shown if it arrives after its conversation was deleted', async () => {
    await start();
    const client = await subscribed();
    await gateway.publish(conversationDeleted(1));
    await gateway.publish(chunk(0, { chunk_seq: 1, offset: 0, chunk: 'late' }));
    await gateway.publish(messageNew(2));
    await client.next('message.new');
    expect(client.names()).toEqual(['workspace.subscribed', 'conversation.deleted', 'message.new']);
  });

  it('arrives in few chunks if the runtime sends many', async () => {
    await start();
    const client = await subscribed();
    let offset = 0;
    for (let seq = 1; seq <= 500; seq += 1) {
      await gateway.publish(chunk(0, { chunk_seq: seq, offset, chunk: 'x' }));
      offset += 1;
      if (seq % 50 === 0) await sleep(5);
    }
    await eventually(() => textOf(client).length === 500);
    expect(client.names().filter((name) => name === 'message.chunk').length).toBeLessThan(50);
  });
});
