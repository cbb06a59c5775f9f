import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { AGENT, agentStatus, chunk, CONVERSATION, MESSAGE, messageNew, WORKSPACE } from '../../../test/envelopes.js';
import { seqs, subscribe } from '../../../test/received-events.js';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../test/test-gateway.js';
import type { TestClient } from '../../../test/test-client.js';

let gateway: TestGateway;
afterEach(() => gateway.close());

const start = async (options: TestGatewayOptions = {}): Promise<void> => {
  gateway = await startTestGateway(options);
};
const subscribed = async (since?: number | string): Promise<TestClient> => {
  const client = await gateway.connect();
  await subscribe(client, since);
  return client;
};

describe('workspace.subscribe with since', () => {
  const publishAll = (count: number) =>
    gateway.publish(...Array.from({ length: count }, (_, index) => messageNew(index + 1)));

  it.each([
    ['a number', 3],
    ['an epoch and a number', 'e1:3'],
  ])('sends the events after %s in order, then workspace.position', async (_form, since) => {
    await start();
    await publishAll(5);
    const client = await gateway.connect();
    expect(await subscribe(client, since)).toMatchObject({
      last_seq: { [WORKSPACE]: 5 },
      epoch: { [WORKSPACE]: 'e1' },
    });
    expect(await client.next('workspace.position')).toEqual({ workspace_id: WORKSPACE, seq: 5 });
    expect(client.names()).toEqual(['workspace.subscribed', 'message.new', 'message.new', 'workspace.position']);
    expect(seqs(client)).toEqual([4, 5, 5]);
  });

  it('sends workspace.position if there are no events', async () => {
    await start();
    await publishAll(5);
    const client = await subscribed(5);
    expect(await client.next('workspace.position')).toEqual({ workspace_id: WORKSPACE, seq: 5 });
  });

  it('reads a range once for clients that resume together, in pages', async () => {
    await start();
    await publishAll(400);
    const clients = await Promise.all(Array.from({ length: 10 }, () => gateway.connect()));
    await Promise.all(clients.map((client) => subscribe(client, 0)));
    for (const client of clients) {
      await client.next('workspace.position');
      expect(seqs(client)).toEqual([...Array.from({ length: 400 }, (_, index) => index + 1), 400]);
    }
    expect(gateway.log.calls.filter((call) => call === 'events').length).toBeLessThan(10);
  });

  it('rejects a position that is too far behind, too old or in the future, each with its reason', async () => {
    await start({ settings: { subscriptions: { maxHoldMs: 0, resumeEvents: 10, resyncSpreadMs: 0 } } });
    await publishAll(20);
    gateway.log.prune(WORKSPACE, 15);
    const reasons: unknown[] = [];
    for (const since of [5, 12, 21, 'e0:20']) {
      const client = await subscribed(since);
      reasons.push((await client.next('workspace.resync')).reason);
    }
    expect(reasons).toEqual(['too_far', 'too_old', 'diverged', 'diverged']);
  });

  it('restarts an existing subscription at the position', async () => {
    await start();
    const client = await subscribed();
    await publishAll(2);
    await eventually(() => seqs(client).length === 2);
    await subscribe(client, 1);
    await client.next('workspace.position');
    await gateway.publish(messageNew(3));
    await eventually(() => seqs(client).at(-1) === 3);
    expect(seqs(client)).toEqual([1, 2, 2, 2, 3]);
  });
});

describe('the state in workspace.subscribed', () => {
  it('has the statuses of the agents and the texts that they write', async () => {
    await start();
    gateway.log.agents = [{ agent_id: AGENT, status: 'writing', conversation_id: CONVERSATION, until_ms: 60_000 }];
    gateway.log.streams = [
      {
        message_id: MESSAGE,
        conversation_id: CONVERSATION,
        agent_id: AGENT,
        generation: 1,
        chunk_seq: 2,
        text: 'So far',
      },
    ];
    const client = await gateway.connect();
    const { state } = await subscribe(client, 0);
    expect(state?.[WORKSPACE]).toEqual({
      agents: [{ agent_id: AGENT, status: 'writing', conversation_id: CONVERSATION, until_ms: expect.any(Number) }],
      streams: gateway.log.streams,
    });
    await gateway.publish(chunk(0, { chunk_seq: 3, offset: 6, chunk: '.' }));
    expect(await client.next('message.chunk')).toMatchObject({ offset: 6, chunk: '.', chunk_seq: 3 });
    // A client that does not send `since` may not know the state.
    expect(await (await subscribed()).next('message.chunk')).toMatchObject({ offset: 0, chunk: 'So far.' });
  });

  it('has a status that arrives while the orchestrator is asked', async () => {
    await start({
      orchestrator: {
        async subscriptions(userId, ids, requestId) {
          const answer = await gateway.log.orchestrator.subscriptions(userId, ids, requestId);
          await gateway.publish(agentStatus(0, 'writing', 60_000));
          await sleep(1);
          return answer;
        },
      },
    });
    const { state } = await subscribe(await gateway.connect());
    expect(state?.[WORKSPACE]?.agents).toMatchObject([{ status: 'writing' }]);
  });

  it('has no status that the orchestrator no longer has', async () => {
    await start();
    const earlier = await subscribed();
    await gateway.publish(agentStatus(0, 'writing', 60_000));
    await earlier.next('agent.status');
    const { state } = await subscribe(await gateway.connect());
    expect(state?.[WORKSPACE]?.agents).toEqual([]);
    expect(await earlier.next('agent.status')).toMatchObject({ status: 'online' });
  });
});
