import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError, ErrorBody, LIMITS } from '@uswarm/contract';
import { createMemoryBus, type EventBus } from '@uswarm/event-bus';
import { agentTool, messageNew, OTHER_WORKSPACE, WORKSPACE } from '../../../test/envelopes.js';
import {
  agreeable,
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

/** A memory bus that counts the subscriptions in force. */
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
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await setImmediate();
};

describe('workspace.subscribe', () => {
  it('RT-001 asks for the workspaces in the name of the user, and events come from then on', async () => {
    const asked: unknown[] = [];
    const client = await connected({
      orchestrator: {
        subscriptions: (userId, ids, requestId) => {
          asked.push([userId, ids]);
          return agreeable.subscriptions(userId, ids, requestId);
        },
      },
    });
    await gateway.publish(messageNew(1));
    await subscribe(client, WORKSPACE);
    await gateway.publish(messageNew(2, OTHER_WORKSPACE), messageNew(1), agentTool(1));
    await client.next('agent.tool');
    expect(asked).toEqual([[USER, [WORKSPACE]]]);
    expect(client.names()).toEqual(['workspace.subscribed', 'message.new', 'agent.tool']);
  });

  it('RT-004 is answered by workspace.subscribed, which names what is watched, what not and why, and the last seqs', async () => {
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
    });
    await gateway.publish(messageNew(1, OTHER_WORKSPACE), messageNew(7), messageNew(8));
    await client.next('message.new');
    expect(seqs(client)).toEqual([8]);
  });

  it('answers the acknowledgement callback too', async () => {
    const client = await connected();
    expect(await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] })).toEqual({
      ok: true,
      workspace_ids: [WORKSPACE],
      rejected: [],
      last_seq: { [WORKSPACE]: 0 },
    });
  });

  it('puts events in order, once each, and keeps those that come while the last seq is asked for', async () => {
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

  it('shows a workspace that is subscribed twice once, whatever the case of its id', async () => {
    const client = await connected();
    await subscribe(client, WORKSPACE, WORKSPACE.toUpperCase());
    await gateway.publish(messageNew(1));
    await client.next('message.new');
    expect(await subscribe(client, WORKSPACE.toUpperCase())).toEqual({
      workspace_ids: [WORKSPACE],
      rejected: [],
      last_seq: { [WORKSPACE]: 1 },
    });
    await gateway.publish(messageNew(2));
    await client.next('message.new');
    expect(seqs(client)).toEqual([1, 2]);
  });

  it('ends what the orchestrator no longer accepts', async () => {
    let mine = true;
    const bus = countingBus();
    const client = await connected({
      bus,
      orchestrator: {
        subscriptions: async (userId, ids, requestId) =>
          mine ? agreeable.subscriptions(userId, ids, requestId) : { accepted: [], rejected: [] },
      },
    });
    await subscribe(client, WORKSPACE);
    mine = false;
    expect(await subscribe(client, WORKSPACE)).toMatchObject({
      rejected: [{ workspace_id: WORKSPACE, code: 'workspace_not_found' }],
    });
    await until(() => bus.open() === 0);
  });

  it('rejects what is over the limit of a socket, and has room again after an unsubscribe', async () => {
    const client = await connected();
    const most = Array.from({ length: LIMITS.subscriptionsPerSocket }, (_, index) => someId(index));
    expect((await subscribe(client, ...most)).rejected).toEqual([]);
    expect(await subscribe(client, WORKSPACE)).toEqual({
      workspace_ids: [],
      rejected: [{ workspace_id: WORKSPACE, code: 'subscription_limit_reached' }],
      last_seq: {},
    });
    await client.ask('workspace.unsubscribe', { workspace_ids: [someId(0)] });
    expect((await subscribe(client, WORKSPACE)).workspace_ids).toEqual([WORKSPACE]);
  });

  it.each([
    ['nothing', []],
    ['null', [null]],
    ['text', [WORKSPACE]],
    ['a list', [[WORKSPACE]]],
    ['an id that is not a string', [{ workspace_ids: [7] }]],
    ['too many ids', [{ workspace_ids: Array.from({ length: 51 }, (_, index) => someId(index)) }]],
  ])('tells a client that sent %s, by event and by callback', async (_name, payload) => {
    const client = await connected({
      orchestrator: {
        subscriptions: () => Promise.reject(new Error('must not be asked')),
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

  it('rejects every id when the orchestrator cannot be asked, and leaves nothing behind', async () => {
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
    await until(() => bus.open() === 0);
  });

  it('stops waiting for the bus and releases a late subscription', async () => {
    const bus = countingBus();
    const { promise: connection, resolve: connect } = Promise.withResolvers<void>();
    let late = 0;
    const client = await connected({
      settings: { busTimeoutMs: 20 },
      bus: {
        ...bus,
        async subscribe(workspaceId, listener) {
          await connection;
          const leave = await bus.subscribe(workspaceId, listener);
          late += 1;
          return leave;
        },
      },
    });
    expect(await subscribe(client, WORKSPACE)).toMatchObject({ rejected: [{ code: 'service_unavailable' }] });
    connect();
    await until(() => late === 1 && bus.open() === 0);
  });
});

describe('workspace.unsubscribe', () => {
  it('RT-002 stops the events of a workspace, not those of others', async () => {
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
    await until(() => bus.open() === 1);
  });

  it('is harmless for what is not watched', async () => {
    const client = await connected();
    expect(await client.ask('workspace.unsubscribe', { workspace_ids: [WORKSPACE, 'x'] })).toMatchObject({ ok: true });
  });

  it('answers a wrong payload by the callback', async () => {
    const client = await connected();
    expect(await client.ask('workspace.unsubscribe', 'everything')).toMatchObject({ code: 'validation_failed' });
  });
});

describe('a client that goes', () => {
  it('gives its subscriptions back, and leaves those of others', async () => {
    const bus = countingBus();
    const leaving = await connected({ bus });
    const staying = await gateway.connect();
    await subscribe(leaving, WORKSPACE, OTHER_WORKSPACE);
    await subscribe(staying, WORKSPACE);
    leaving.socket.disconnect();
    await until(() => bus.open() === 1);
    await gateway.publish(messageNew(1));
    expect(await staying.next('message.new')).toMatchObject({ seq: 1 });
  });

  it('gives back also what it was about to get', async () => {
    const bus = countingBus();
    const { promise: verdict, resolve: decide } = Promise.withResolvers<void>();
    const client = await connected({
      bus,
      orchestrator: {
        async subscriptions(userId, ids, requestId) {
          await verdict;
          return agreeable.subscriptions(userId, ids, requestId);
        },
      },
    });
    client.socket.emit('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    await until(() => bus.open() === 1);
    client.socket.disconnect();
    while (!(await gateway.metric('uswarm_gateway_sockets')).endsWith(' 0')) await setImmediate();
    expect(bus.open()).toBe(1);
    decide();
    await until(() => bus.open() === 0);
  });

  it('counts watched workspaces until the last watcher leaves', async () => {
    const client = await connected();
    await subscribe(client, WORKSPACE, OTHER_WORKSPACE);
    expect(await gateway.metric('uswarm_gateway_subscriptions')).toMatch(/ 2$/);
    await client.ask('workspace.unsubscribe', { workspace_ids: [WORKSPACE] });
    expect(await gateway.metric('uswarm_gateway_subscriptions')).toMatch(/ 1$/);
    client.socket.disconnect();
    while (!(await gateway.metric('uswarm_gateway_sockets')).endsWith(' 0')) await setImmediate();
    expect(await gateway.metric('uswarm_gateway_subscriptions')).toMatch(/ 0$/);
  });
});
