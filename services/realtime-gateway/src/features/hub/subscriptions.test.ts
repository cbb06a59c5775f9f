import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError, ErrorBody, LIMITS } from '@uswarm/contract';
import { createMemoryBus, type EventBus } from '@uswarm/event-bus';
import { eventually } from '@uswarm/testkit/eventually';
import { agentTool, EPOCH, messageNew, OTHER_WORKSPACE, WORKSPACE } from '../../../test/envelopes.js';
import {
  acceptingOrchestrator,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
  USER,
} from '../../../test/test-gateway.js';
import type { TestClient } from '../../../test/test-client.js';

let gateway: TestGateway;
afterEach(() => gateway.close());

async function connected(options: TestGatewayOptions = {}): Promise<TestClient> {
  gateway = await startTestGateway(options);
  return gateway.connect();
}

const subscribe = async (client: TestClient, ...ids: string[]) => {
  client.socket.emit('workspace.subscribe', { workspace_ids: ids });
  return client.next('workspace.subscribed');
};
const seqs = (client: TestClient): unknown[] =>
  client.events.filter(({ name }) => name === 'message.new').map(({ payload }) => (payload as { seq: number }).seq);
const someId = (index: number): string => `01890000-0000-7000-9000-${String(index).padStart(12, '0')}`;

/** A memory bus that counts its active subscriptions. */
function countingBus(): EventBus & { open(): number } {
  const bus = createMemoryBus();
  let open = 0;
  return {
    ...bus,
    open: () => open,
    async subscribe(workspaceId, listener) {
      const leave = await bus.subscribe(workspaceId, listener);
      open += 1;
      return () => {
        open -= 1;
        leave();
      };
    },
  };
}
/** A memory bus that is unavailable until `connect` is called. */
function lateBus(): { bus: EventBus; connect: () => void } {
  const bus = createMemoryBus();
  const { promise: connection, resolve: connect } = Promise.withResolvers<void>();
  return {
    bus: {
      ...bus,
      async subscribe(workspaceId, listener) {
        await connection;
        return bus.subscribe(workspaceId, listener);
      },
    },
    connect,
  };
}

describe('workspace.subscribe', () => {
  it('RT-001 subscribes with a token for the user, and delivers events from then on', async () => {
    const requests: unknown[] = [];
    const client = await connected({
      orchestrator: {
        subscriptions: (userId, ids, requestId) => {
          requests.push({ userId, ids });
          return acceptingOrchestrator.subscriptions(userId, ids, requestId);
        },
      },
    });
    await subscribe(client, WORKSPACE);
    await gateway.publish(messageNew(1, OTHER_WORKSPACE), messageNew(1), agentTool(1));
    await client.next('agent.tool');
    expect(requests).toEqual([{ userId: USER, ids: [WORKSPACE] }]);
    expect(client.names()).toEqual(['workspace.subscribed', 'message.new', 'agent.tool']);
  });

  it('RT-004 emits workspace.subscribed with the accepted ids, the rejected ids with codes, and the last sequences', async () => {
    const client = await connected({
      orchestrator: {
        subscriptions: async () => ({
          accepted: [{ workspace_id: WORKSPACE, last_seq: 7 }],
          rejected: [{ workspace_id: OTHER_WORKSPACE, code: 'workspace_not_found' }],
        }),
      },
    });
    expect(await subscribe(client, WORKSPACE, OTHER_WORKSPACE, 'no-uuid')).toEqual({
      workspace_ids: [WORKSPACE],
      rejected: [
        { workspace_id: OTHER_WORKSPACE, code: 'workspace_not_found' },
        { workspace_id: 'no-uuid', code: 'workspace_not_found' },
      ],
      last_seq: { [WORKSPACE]: 7 },
      epoch: {},
      state: { [WORKSPACE]: { agents: [], streams: [] } },
    });
    await gateway.publish(messageNew(1, OTHER_WORKSPACE), messageNew(7), messageNew(8));
    await client.next('message.new');
    expect(seqs(client)).toEqual([8]);
  });

  it('calls the acknowledgement callback as well', async () => {
    const client = await connected();
    expect(await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] })).toEqual({
      ok: true,
      workspace_ids: [WORKSPACE],
      rejected: [],
      last_seq: { [WORKSPACE]: 0 },
      epoch: { [WORKSPACE]: EPOCH },
      state: { [WORKSPACE]: { agents: [], streams: [] } },
    });
  });

  it('delivers events once and in order, including those that arrive while the last sequence is fetched', async () => {
    const client = await connected({
      orchestrator: {
        async subscriptions() {
          await gateway.publish(messageNew(6), messageNew(4), messageNew(3));
          return { accepted: [{ workspace_id: WORKSPACE, last_seq: 3 }], rejected: [] };
        },
      },
    });
    await subscribe(client, WORKSPACE);
    await gateway.publish(messageNew(6), messageNew(5), messageNew(7));
    for (let count = 0; count < 4; count += 1) await client.next('message.new');
    expect(seqs(client)).toEqual([4, 5, 6, 7]);
    expect(client.names()[0]).toBe('workspace.subscribed');
  });

  it('subscribes a repeated workspace once, regardless of the case of its id', async () => {
    const client = await connected();
    await subscribe(client, WORKSPACE, WORKSPACE.toUpperCase());
    await gateway.publish(messageNew(1));
    await client.next('message.new');
    expect(await subscribe(client, WORKSPACE.toUpperCase())).toMatchObject({
      workspace_ids: [WORKSPACE],
      rejected: [],
      last_seq: { [WORKSPACE]: 1 },
    });
    await gateway.publish(messageNew(2));
    await client.next('message.new');
    expect(seqs(client)).toEqual([1, 2]);
  });

  it('ends a subscription that the orchestrator no longer accepts', async () => {
    let accepted = true;
    const bus = countingBus();
    const client = await connected({
      bus,
      orchestrator: {
        subscriptions: async (userId, ids, requestId) =>
          accepted ? acceptingOrchestrator.subscriptions(userId, ids, requestId) : { accepted: [], rejected: [] },
      },
    });
    await subscribe(client, WORKSPACE);
    accepted = false;
    expect(await subscribe(client, WORKSPACE)).toMatchObject({
      rejected: [{ workspace_id: WORKSPACE, code: 'workspace_not_found' }],
    });
    await eventually(() => bus.open() === 0);
  });

  it('rejects workspaces above the limit per socket, and accepts them after an unsubscribe', async () => {
    const client = await connected();
    const most = Array.from({ length: LIMITS.subscriptionsPerSocket }, (_, index) => someId(index));
    expect((await subscribe(client, ...most)).rejected).toEqual([]);
    expect(await subscribe(client, WORKSPACE)).toMatchObject({
      workspace_ids: [],
      rejected: [{ workspace_id: WORKSPACE, code: 'subscription_limit_reached' }],
      last_seq: {},
    });
    await client.ask('workspace.unsubscribe', { workspace_ids: [someId(0)] });
    expect((await subscribe(client, WORKSPACE)).workspace_ids).toEqual([WORKSPACE]);
  });

  it.each([
    ['missing', []],
    ['null', [null]],
    ['a string', [WORKSPACE]],
    ['an array', [[WORKSPACE]]],
    ['an object with a numeric id', [{ workspace_ids: [7] }]],
    ['an object with too many ids', [{ workspace_ids: Array.from({ length: 51 }, (_, index) => someId(index)) }]],
  ])('answers a payload that is %s with validation_failed, by event and by callback', async (_name, payload) => {
    const client = await connected({
      orchestrator: {
        subscriptions: () => Promise.reject(new Error('unexpected call')),
      },
    });
    expect(ErrorBody.parse(await client.ask('workspace.subscribe', ...payload))).toMatchObject({
      code: 'validation_failed',
      extra: { request_id: expect.any(String) },
    });
    expect(await client.next('workspace.subscribed')).toEqual({
      workspace_ids: [],
      rejected: [{ workspace_id: '', code: 'validation_failed' }],
      last_seq: {},
    });
  });

  it('rejects every id and releases all subscriptions if the orchestrator is unavailable', async () => {
    const bus = countingBus();
    const client = await connected({
      bus,
      orchestrator: {
        subscriptions: () => Promise.reject(new ApiError('service_unavailable')),
      },
    });
    expect(await subscribe(client, WORKSPACE)).toEqual({
      workspace_ids: [],
      rejected: [{ workspace_id: WORKSPACE, code: 'service_unavailable' }],
      last_seq: {},
    });
    await eventually(() => bus.open() === 0);
  });

  it('accepts while the bus is unavailable, and delivers what was published until it is available', async () => {
    const { bus, connect } = lateBus();
    const client = await connected({
      settings: { busTimeoutMs: 20 },
      bus,
    });
    expect(await subscribe(client, WORKSPACE)).toMatchObject({ workspace_ids: [WORKSPACE], rejected: [] });
    await gateway.publish(messageNew(1), messageNew(2));
    expect(client.names()).toEqual(['workspace.subscribed']);
    connect();
    for (const seq of [1, 2]) expect(await client.next('message.new')).toMatchObject({ seq });
  });

  it('delivers what was published between the snapshot and a late confirmation of the bus', async () => {
    const { bus, connect } = lateBus();
    const client = await connected({
      settings: { busTimeoutMs: 20 },
      bus,
      orchestrator: {
        async subscriptions(userId, ids, requestId) {
          const answer = await gateway.log.orchestrator.subscriptions(userId, ids, requestId);
          await gateway.publish(messageNew(1));
          connect();
          await setImmediate();
          return answer;
        },
      },
    });
    await subscribe(client, WORKSPACE);
    expect(await client.next('message.new')).toMatchObject({ seq: 1 });
  });
});

describe('workspace.unsubscribe', () => {
  it('RT-002 stops the events of that workspace only', async () => {
    const bus = countingBus();
    const client = await connected({ bus });
    await subscribe(client, WORKSPACE, OTHER_WORKSPACE);
    expect(await client.ask('workspace.unsubscribe', { workspace_ids: [WORKSPACE] })).toEqual({
      ok: true,
      workspace_ids: [WORKSPACE],
    });
    await gateway.publish(messageNew(1), messageNew(1, OTHER_WORKSPACE));
    expect(await client.next('message.new')).toMatchObject({ workspace_id: OTHER_WORKSPACE });
    expect(seqs(client)).toEqual([1]);
    await eventually(() => bus.open() === 1);
  });

  it('accepts workspaces without a subscription', async () => {
    const client = await connected();
    expect(await client.ask('workspace.unsubscribe', { workspace_ids: [WORKSPACE, 'x'] })).toMatchObject({ ok: true });
  });

  it('answers an invalid payload by the callback', async () => {
    const client = await connected();
    expect(await client.ask('workspace.unsubscribe', 'everything')).toMatchObject({ code: 'validation_failed' });
  });
});

describe('a client that disconnects', () => {
  it('releases its own subscriptions only', async () => {
    const bus = countingBus();
    const leaving = await connected({ bus });
    const staying = await gateway.connect();
    await subscribe(leaving, WORKSPACE, OTHER_WORKSPACE);
    await subscribe(staying, WORKSPACE);
    leaving.socket.disconnect();
    await eventually(() => bus.open() === 1);
    await gateway.publish(messageNew(1));
    expect(await staying.next('message.new')).toMatchObject({ seq: 1 });
  });

  it('releases a subscription that is in progress', async () => {
    const bus = countingBus();
    const { promise: verdict, resolve: decide } = Promise.withResolvers<void>();
    const client = await connected({
      bus,
      orchestrator: {
        async subscriptions(userId, ids, requestId) {
          await verdict;
          return acceptingOrchestrator.subscriptions(userId, ids, requestId);
        },
      },
    });
    client.socket.emit('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    await eventually(() => bus.open() === 1);
    client.socket.disconnect();
    await eventually(async () => (await gateway.metric('uswarm_gateway_sockets')).endsWith(' 0'));
    expect(bus.open()).toBe(1);
    decide();
    await eventually(() => bus.open() === 0);
  });

  it('decreases the subscription metric', async () => {
    const client = await connected();
    await subscribe(client, WORKSPACE, OTHER_WORKSPACE);
    expect(await gateway.metric('uswarm_gateway_subscriptions')).toMatch(/ 2$/);
    await client.ask('workspace.unsubscribe', { workspace_ids: [WORKSPACE] });
    expect(await gateway.metric('uswarm_gateway_subscriptions')).toMatch(/ 1$/);
    client.socket.disconnect();
    await eventually(async () => (await gateway.metric('uswarm_gateway_sockets')).endsWith(' 0'));
    expect(await gateway.metric('uswarm_gateway_subscriptions')).toMatch(/ 0$/);
  });
});
