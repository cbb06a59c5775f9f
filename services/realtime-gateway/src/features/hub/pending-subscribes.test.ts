import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError, LIMITS, type SubscriptionsAnswer } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { messageNew, WORKSPACE } from '../../../test/envelopes.js';
import { createManualTimers, type ManualTimers } from '../../../test/manual-timers.js';
import { subscribe } from '../../../test/received-events.js';
import type { TestClient } from '../../../test/test-client.js';
import { startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

/** Longer than the longest time between two attempts. */
const LONG_MS = 15_000;

let gateway: TestGateway;
let timers: ManualTimers;
let client: TestClient;
/** The ids of each request. */
let requests: (readonly string[])[];
let respond: (fromLog: () => Promise<SubscriptionsAnswer>) => Promise<SubscriptionsAnswer>;
afterEach(() => gateway.close());

const unavailable = () => Promise.reject(new ApiError('service_unavailable'));

/** A session may subscribe to the workspaces that it knows while the orchestrator is unavailable. This one is not known. */
const unavailableForOne = async (): Promise<SubscriptionsAnswer> => ({
  accepted: [],
  rejected: [{ workspace_id: WORKSPACE, code: 'service_unavailable' }],
});

async function connected(): Promise<void> {
  timers = createManualTimers();
  requests = [];
  respond = (fromLog) => fromLog();
  gateway = await startTestGateway({
    timers,
    orchestrator: {
      subscriptions(userId, ids, requestId) {
        requests.push(ids);
        return respond(() => gateway.log.orchestrator.subscriptions(userId, ids, requestId));
      },
    },
  });
  client = await gateway.connect();
}

/** A client at position 1 of 2 whose subscribe was rejected. */
async function rejected(): Promise<void> {
  await connected();
  await gateway.publish(messageNew(1), messageNew(2));
  respond = unavailable;
  expect(await subscribe(client, 1)).toMatchObject({ rejected: [{ code: 'service_unavailable' }] });
}

/** The time passes until the gateway has sent this number of requests. */
const untilRequests = (count: number) =>
  eventually(() => {
    timers.advance(LONG_MS);
    return requests.length >= count;
  });

async function expectNoRequest(): Promise<void> {
  const { length } = requests;
  for (let round = 0; round < 5; round += 1) {
    timers.advance(LONG_MS);
    await setImmediate();
  }
  expect(requests).toHaveLength(length);
}

/** Holds the next request. @returns lets it succeed */
function holdRequest(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  respond = async (fromLog) => {
    respond = (next) => next();
    await promise;
    return fromLog();
  };
  return resolve;
}

const messages = () =>
  client.events.flatMap(({ name, payload }) => (name === 'message.new' ? [(payload as { seq: number }).seq] : []));
const subscribedEvents = () => client.names().filter((name) => name === 'workspace.subscribed').length;

describe('a workspace that could not be subscribed because the orchestrator was unavailable', () => {
  it('is subscribed later without another request of the client, from the position that it sent', async () => {
    await rejected();
    await untilRequests(3);
    expect(client.names()).toEqual(['workspace.subscribed']);
    respond = (fromLog) => fromLog();
    await untilRequests(4);
    expect(await client.next('workspace.subscribed')).toMatchObject({ workspace_ids: [WORKSPACE], rejected: [] });
    expect(await client.next('message.new')).toMatchObject({ seq: 2 });
    expect(await client.next('workspace.position')).toMatchObject({ seq: 2 });
    await expectNoRequest();
  });

  it('is asked for less and less often', async () => {
    await rejected();
    const waits: number[] = [];
    for (let count = 2; count < 12; count += 1) {
      let waited = 0;
      await eventually(
        () => {
          timers.advance(50);
          waited += 50;
          return requests.length >= count;
        },
        { intervalMs: 1 },
      );
      waits.push(waited);
    }
    expect(waits[0]).toBeLessThanOrEqual(550);
    expect(Math.max(...waits)).toBeGreaterThan(2_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(11_000);
  });

  it('follows a later subscribe of the client, even if an attempt is in progress', async () => {
    await rejected();
    const succeed = holdRequest();
    await untilRequests(2);
    expect(await subscribe(client, 2)).toMatchObject({ workspace_ids: [WORKSPACE] });
    succeed();
    await expectNoRequest();
    await gateway.publish(messageNew(3));
    await client.next('message.new');
    expect(messages()).toEqual([3]);
    expect(subscribedEvents()).toBe(2);
  });

  it.each(['before an attempt', 'during an attempt'])('stays unsubscribed after an unsubscribe %s', async (when) => {
    await rejected();
    const succeed = holdRequest();
    if (when === 'during an attempt') await untilRequests(2);
    await client.ask('workspace.unsubscribe', { workspace_ids: [WORKSPACE] });
    succeed();
    await expectNoRequest();
    await gateway.publish(messageNew(3));
    expect(await gateway.metric('uswarm_gateway_subscriptions')).toMatch(/ 0$/);
    expect(client.names()).toEqual(['workspace.subscribed']);
  });

  it.each(['before an attempt', 'during an attempt'])('is forgotten if the connection ends %s', async (when) => {
    await rejected();
    const succeed = holdRequest();
    if (when === 'during an attempt') await untilRequests(2);
    client.socket.disconnect();
    await eventually(async () => (await gateway.metric('uswarm_gateway_sockets')).endsWith(' 0'));
    succeed();
    await expectNoRequest();
    expect(await gateway.metric('uswarm_gateway_subscriptions')).toMatch(/ 0$/);
  });

  it.each([
    [
      'rejects it',
      async () => ({ accepted: [], rejected: [{ workspace_id: WORKSPACE, code: 'workspace_not_found' }] }),
    ],
    ['refuses the request', () => Promise.reject(new ApiError('workspace_not_found'))],
  ] as const)('is rejected finally when the orchestrator %s', async (_what, finally_) => {
    await rejected();
    respond = finally_ as typeof respond;
    await untilRequests(2);
    await client.next('workspace.subscribed');
    expect(client.events.at(-1)?.payload).toMatchObject({
      workspace_ids: [],
      rejected: [{ workspace_id: WORKSPACE, code: 'workspace_not_found' }],
    });
    await expectNoRequest();
  });

  it('delivers nothing after the position of the client until it is subscribed again', async () => {
    await connected();
    await subscribe(client, 0);
    await gateway.publish(messageNew(1), messageNew(2));
    for (const seq of [1, 2]) expect(await client.next('message.new')).toMatchObject({ seq });
    respond = unavailableForOne;
    await subscribe(client, 1);
    await gateway.publish(messageNew(3));
    respond = (fromLog) => fromLog();
    await untilRequests(3);
    for (const seq of [2, 3]) expect(await client.next('message.new')).toMatchObject({ seq });
    expect(messages()).toEqual([1, 2, 2, 3]);
  });

  it('keeps a subscription of the client, if it did not send a position', async () => {
    await connected();
    await subscribe(client, 0);
    respond = unavailableForOne;
    await subscribe(client);
    await gateway.publish(messageNew(1));
    expect(await client.next('message.new')).toMatchObject({ seq: 1 });
    respond = (fromLog) => fromLog();
    await untilRequests(3);
    await eventually(() => subscribedEvents() === 3);
    await gateway.publish(messageNew(2));
    expect(await client.next('message.new')).toMatchObject({ seq: 2 });
    expect(messages()).toEqual([1, 2]);
  });

  it('counts for the limit of the connection', async () => {
    await connected();
    respond = unavailable;
    const ids = Array.from(
      { length: LIMITS.subscriptionsPerSocket },
      (_, index) => `01890000-0000-7000-9000-${String(index).padStart(12, '0')}`,
    );
    await client.ask('workspace.subscribe', { workspace_ids: ids });
    expect(await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] })).toMatchObject({
      rejected: [{ workspace_id: WORKSPACE, code: 'subscription_limit_reached' }],
    });
  });
});
